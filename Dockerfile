# One image for web, worker, beat and sealer: the command tells them apart (see compose.yaml).
FROM python:3.13-slim AS build
WORKDIR /app
COPY requirements/server.txt requirements/server.txt
RUN python -m venv /venv && /venv/bin/pip install --no-cache-dir --require-hashes -r requirements/server.txt
COPY . .
RUN /venv/bin/python manage.py collectstatic --no-input --verbosity=0

FROM python:3.13-slim
# 10001 is nobody on the host; the volume of the signing key belongs to it.
RUN groupadd --gid 10001 reviewqueue && useradd --uid 10001 --gid 10001 --no-create-home reviewqueue \
    && install -d -o 10001 -g 10001 -m 0700 /var/lib/reviewqueue /var/lib/reviewqueue-audit
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 \
    TICKET_KEY_FILE=/var/lib/reviewqueue/ticket-key.pem
WORKDIR /app
COPY --from=build /venv /venv
COPY --from=build /app /app
USER 10001:10001
VOLUME /var/lib/reviewqueue
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/healthz', timeout=2)"]
CMD ["python", "-m", "granian", "--interface", "wsgi", "--host", "0.0.0.0", "--port", "8000", "--workers", "1", \
     "--blocking-threads", "232", "--http", "1", "--no-ws", "--workers-kill-timeout", "2", "reviewqueue.wsgi:application"]

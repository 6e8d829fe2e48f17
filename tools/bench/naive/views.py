"""A create view, and a token that is looked up by its hash."""

from __future__ import annotations

import hashlib
from typing import Any

from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.generics import CreateAPIView
from rest_framework.request import Request

from tools.bench.naive.models import Checkpoint, Token
from tools.bench.naive.serializers import CheckpointSerializer


class HashedToken(BaseAuthentication):
    def authenticate(self, request: Request) -> tuple[Any, Token]:
        text = request.headers.get("Authorization", "").removeprefix("Bearer ")
        token = Token.objects.filter(digest=hashlib.sha256(text.encode()).digest()).first()
        if token is None or token.expires_at < timezone.now():
            raise AuthenticationFailed
        return token, token


class Checkpoints(CreateAPIView[Checkpoint]):
    queryset = Checkpoint.objects.all()
    serializer_class = CheckpointSerializer
    authentication_classes = (HashedToken,)

    def perform_create(self, serializer: Any) -> None:
        serializer.save(owner=self.request.auth.owner)

"""Gate 2: every rule about the content of a checkpoint, as pure functions of (submission, context).

One module per family, one table per code in `catalogue/`, one runner. A family never imports another; what
several of them read stands in `shape`, `strings` and `references`.
"""

"""The human half (pages, decisions, minting) and the Django project that composes both halves."""

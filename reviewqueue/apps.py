from django.apps import AppConfig


class ReviewQueueConfig(AppConfig):
    name = "reviewqueue"
    default_auto_field = "django.db.models.BigAutoField"

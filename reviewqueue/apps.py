from django.apps import AppConfig


class ReviewQueueConfig(AppConfig):
    name = "reviewqueue"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from reviewqueue.services.minting import install_signer

        install_signer()

"""People who sign in."""

from django.contrib.auth.models import AbstractUser


class User(AbstractUser):
    """A person. Our own class from the first migration, so that it can grow without surgery."""

"""Builds the images the product starts with, from Debian's own packages and without root."""

from infra.bootstrap.guestimage.debian import build_debian
from infra.bootstrap.guestimage.hello import build_hello
from infra.bootstrap.guestimage.image import BuildFailed, BuiltImage

__all__ = ["BuildFailed", "BuiltImage", "build_debian", "build_hello"]

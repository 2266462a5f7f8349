"""The declared document of an image. Pure."""

from __future__ import annotations

from pydantic import Field, field_validator

from inventory.specs.base import Spec, Text

MAX_IMAGE_BYTES = 1 << 42
"""4 TiB: more is a slip of the pen."""


class ImageSpec(Spec):
    """An image named by its content. Without `url` the installation's own store must hold it."""

    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    format: str = Field(pattern="^(raw|qcow2)$")
    size_bytes: int = Field(gt=0, le=MAX_IMAGE_BYTES)
    min_disk_gib: int = Field(default=1, ge=1, le=65536)
    url: Text = Field(default="", max_length=2000)

    @field_validator("url")
    @classmethod
    def _url_is_http(cls, url: str) -> str:
        if url and not url.startswith(("https://", "http://")):
            raise ValueError(
                "an image is fetched by http or https; leave the url out for the store"
            )
        return url

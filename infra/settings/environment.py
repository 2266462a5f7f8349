"""What the environment may set, typed. Prefix INFRA_; secrets may also come from files."""

from __future__ import annotations

import secrets
from pathlib import Path

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

CHECKOUT = Path(__file__).resolve().parents[2]


class Environment(BaseSettings):
    """Settings of one installation. Ports are TCP, times are seconds."""

    model_config = SettingsConfigDict(env_prefix="INFRA_", extra="ignore")

    data_dir: Path = CHECKOUT / ".infra"
    database_url: str = ""
    redis_url: str = ""
    secret_key: str = ""
    debug: bool = False
    allowed_hosts: str = "localhost,127.0.0.1,[::1]"
    trusted_origins: str = ""
    port: int = 8000
    edge_address: str = "127.0.0.1"
    edge_bind: str = "127.0.0.1"
    edge_port: int = 8001
    enrol_port: int = 8002
    image_store: Path | None = None
    ca_dir: Path | None = None
    time_zone: str = "UTC"
    log_json: bool = False
    silent_after_seconds: float = Field(default=45.0, gt=0)

    @property
    def images(self) -> Path:
        return self.image_store or self.data_dir / "images"

    @property
    def authority(self) -> Path:
        return self.ca_dir or self.data_dir / "ca"

    def database(self) -> str:
        """Return the database URL; the private cluster's socket when none was given."""
        sockets = self.data_dir / "run" / "postgres"
        return self.database_url or f"postgresql://infra@/infra?host={sockets}"

    def redis(self) -> str:
        return self.redis_url or f"unix://{self.data_dir / 'redis' / 'redis.sock'}?db=0"

    def secret(self) -> str:
        """Return the signing secret, made once and kept in the secrets folder (mode 0600)."""
        if self.secret_key:
            return self.secret_key
        path = self.data_dir / "secrets" / "secret_key"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            try:
                with path.open("x") as file:
                    path.chmod(0o600)
                    file.write(secrets.token_urlsafe(50))
            except FileExistsError:
                pass
        return path.read_text()

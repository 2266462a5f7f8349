"""The kept OpenAPI document and JSON Schemas are those of the code, and are served."""

import json
from pathlib import Path

import jsonschema
import yaml
from django.conf import settings

from infra.api.documentation import generated_files

DOCS = Path(settings.BASE_DIR) / "docs"
METHODS = {"get", "post", "put", "patch", "delete"}


def kept():
    return yaml.safe_load((DOCS / "openapi.yaml").read_text())


def test_what_is_kept_is_what_the_code_says():
    for name, text in generated_files().items():
        assert (DOCS / name).read_text() == text, f"run: ./manage.py openapi ({name})"


def test_the_document_is_served_to_everybody(client):
    answer = client.get("/api/v1/openapi.json")
    assert answer.status_code == 200
    assert json.loads(answer.content)["paths"].keys() == kept()["paths"].keys()


def test_every_operation_says_how_it_refuses_and_has_a_name_of_its_own():
    names = []
    for path, operations in kept()["paths"].items():
        for method, operation in operations.items():
            assert method in METHODS
            assert "default" in operation["responses"], (method, path)
            assert operation["description"], (method, path)
            names.append(operation["operationId"])
    assert len(names) == len(set(names))


def test_every_reference_leads_somewhere():
    text = (DOCS / "openapi.yaml").read_text()
    schemas = kept()["components"]["schemas"]
    named = {part.split("'")[0].split()[0] for part in text.split("#/components/schemas/")[1:]}
    assert named <= schemas.keys()


def test_the_pages_keep_to_the_strict_content_security_policy(client):
    answer = client.get("/api/v1/docs")
    assert answer.status_code == 200
    page = answer.content.decode()
    assert "<style" not in page
    assert " style=" not in page
    for part in page.split("<script")[1:]:
        assert part.split(">")[0].strip().startswith("src="), part[:100]
    assert client.get("/api/v1/docs?script=").status_code == 200
    assert "unsafe" not in answer["Content-Security-Policy"]


def test_the_schemas_accept_the_examples():
    for example in sorted((DOCS / "examples").glob("*.yaml")):
        for document in yaml.safe_load_all(example.read_text()):
            schema = json.loads((DOCS / "schemas" / f"{document['kind'].lower()}.json").read_text())
            jsonschema.validate(document, schema)

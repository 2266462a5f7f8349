"""Keys and signing requests from outside: read, and refused when they are not good enough."""

from __future__ import annotations

import hashlib

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa

from inventory.errors import invalid

PublicKey = ec.EllipticCurvePublicKey | rsa.RSAPublicKey
MIN_RSA_BITS = 3072
MAX_RSA_BITS = 8192
"""Larger keys cost the edge more to check than they could ever protect."""


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


KEY_USAGE_CA = _usage(signs_certificates=True)
KEY_USAGE_END = _usage(signs_certificates=False)


def read_signing_request(csr_pem: str) -> x509.CertificateSigningRequest:
    """Return a signing request that was signed by its own key. Raises Invalid."""
    try:
        request = x509.load_pem_x509_csr(csr_pem.encode())
        genuine = request.is_signature_valid
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        message = "This is not a certificate signing request in PEM form."
        raise invalid("/csr_pem", "csr.malformed", message) from error
    if not genuine:
        message = "The signing request was not signed by the key it names."
        raise invalid("/csr_pem", "csr.signature", message)
    return request


def check_public_key(key: object) -> PublicKey:
    """Return the key if it is EC P-256, EC P-384 or RSA of 3072 to 8192 bits. Raises Invalid."""
    if isinstance(key, ec.EllipticCurvePublicKey) and key.curve.name in {"secp256r1", "secp384r1"}:
        return key
    if isinstance(key, rsa.RSAPublicKey) and MIN_RSA_BITS <= key.key_size <= MAX_RSA_BITS:
        return key
    message = "The key must be EC P-256, EC P-384 or RSA of at least 3072 bits."
    raise invalid("/csr_pem", "csr.key", message)


def key_digest(key: PublicKey) -> str:
    """Return the SHA-256 of the key's SubjectPublicKeyInfo, in hex."""
    der = key.public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return hashlib.sha256(der).hexdigest()


def signature_holds(key: PublicKey, signature: bytes, message: bytes) -> bool:
    """Return whether the key signed the message: ECDSA, or RSA PKCS#1 v1.5, over SHA-256."""
    try:
        if isinstance(key, ec.EllipticCurvePublicKey):
            key.verify(signature, message, ec.ECDSA(hashes.SHA256()))
        else:
            key.verify(signature, message, padding.PKCS1v15(), hashes.SHA256())
    except InvalidSignature:
        return False
    return True

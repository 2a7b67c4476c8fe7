"""What stands for an id wherever many are kept: 64 bits of its hash."""
try:
    # Without OpenSSL, which hashlib loads and which takes longer than reading what a live session grew by.
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b


def key_of(text):
    """The 64-bit key (signed) under which a thing's identity is stored."""
    return int.from_bytes(blake2b(text.encode('utf-8', 'replace'), digest_size=8).digest(), 'little', signed=True)

"""The boot sector that the probe starts. `sector.S` beside this file is its source."""

from __future__ import annotations

STAGES = b"RLIW"
"""What a guest that works writes on COM1: real mode, long mode, interrupt, work done."""

_CODE = bytes.fromhex(
    "fa31c08ed88ec08ed0bc007cbaf803b052eebf00106631c0b9000cfc66f3abc7"
    "0600100320c70600200330c706003083000f0116e87c66b8a00000000f22e066"
    "b8001000000f22d866b9800000c00f320d00010f3066b8010000800f22c0ea63"
    "7c0800b8100000008ed88ec08ed0baf8030000b04ceebf00400000488d9f0003"
    "0000c703c67c0800c74304008e000048c74308000000000f011c25ee7c0000cd"
    "3031c0b90090d0030fb7f1018600000100ffc975f3baf8030000b057eeba0105"
    "0000eef4ebfdb049ee48cf0f1f4400000000000000000000ffff0000009aaf00"
    "ffff00000092cf001700d07c00000f030040000000000000"
)

SECTOR = _CODE.ljust(510, b"\0") + b"\x55\xaa"
"""The 512 bytes the firmware loads at 0x7c00."""

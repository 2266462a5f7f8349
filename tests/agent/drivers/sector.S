# The guest of the driver tests, one boot sector: says HELLO on COM1, echoes what it hears there,
# and switches itself off when the power button is pressed (ACPI of QEMU's machine `pc`).
#
# Assemble: as --32 sector.S -o sector.o && objcopy -O binary -j .text sector.o sector.bin
.code16
.org 0
start:
    cli
    xor %ax, %ax
    mov %ax, %ds
    mov %ax, %ss
    mov $0x7c00, %sp
    # Let the power button be heard: PWRBTN_EN in PM1a_EN.
    mov $0x602, %dx
    mov $0x0100, %ax
    out %ax, %dx
    mov $(0x7c00 + hello), %si
say:
    lodsb
    test %al, %al
    jz listen
    call send
    jmp say
listen:
    mov $0x600, %dx
    in %dx, %ax
    test $0x01, %ah
    jnz off
    mov $0x3fd, %dx
    in %dx, %al
    test $0x01, %al
    jz listen
    mov $0x3f8, %dx
    in %dx, %al
    call send
    jmp listen
off:
    mov $0x604, %dx
    mov $0x2000, %ax
    out %ax, %dx
    jmp off
send:
    mov %al, %ah
    mov $0x3fd, %dx
wait:
    in %dx, %al
    test $0x20, %al
    jz wait
    mov %ah, %al
    mov $0x3f8, %dx
    out %al, %dx
    ret
hello:
    .asciz "HELLO sector\r\n"

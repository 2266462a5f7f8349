# The tiny guest of the acceleration probe: one boot sector, one letter on COM1 for each stage.
#
#   R  real mode runs            L  long mode with paging runs
#   I  an interrupt was taken    W  64 million memory additions were done
#
# Half-working accelerators get as far as R or L: some hang in the first interrupt taken in long
# mode, others emulate every instruction and never come to the end of the work.
#
# Assemble: as --64 sector.S -o sector.o && objcopy -O binary sector.o sector.bin

.code16
.org 0
start:
    cli
    xor %ax, %ax
    mov %ax, %ds
    mov %ax, %es
    mov %ax, %ss
    mov $0x7c00, %sp
    mov $0x3f8, %dx
    mov $'R', %al
    out %al, %dx

    # Page tables at 0x1000, 0x2000 and 0x3000 map the first 2 MiB onto itself.
    mov $0x1000, %di
    xor %eax, %eax
    mov $(3 * 1024), %cx
    cld
    rep stosl
    movw $0x2003, 0x1000
    movw $0x3003, 0x2000
    movw $0x0083, 0x3000

    lgdt 0x7c00 + gdt_pointer - start
    mov $0xa0, %eax             # CR4: PAE and PGE
    mov %eax, %cr4
    mov $0x1000, %eax
    mov %eax, %cr3
    mov $0xc0000080, %ecx       # EFER: long mode enable
    rdmsr
    or $0x100, %ax
    wrmsr
    mov $0x80000001, %eax       # CR0: paging and protection
    mov %eax, %cr0
    ljmp $8, $(0x7c00 + long - start)

.code64
long:
    mov $16, %eax
    mov %eax, %ds
    mov %eax, %es
    mov %eax, %ss
    mov $0x3f8, %edx
    mov $'L', %al
    out %al, %dx

    # One gate, for vector 0x30, in an interrupt table at 0x4000.
    mov $0x4000, %edi
    lea 0x300(%rdi), %rbx
    movl $(0x00080000 + 0x7c00 + handler - start), (%rbx)
    movl $0x00008e00, 4(%rbx)
    movq $0, 8(%rbx)
    lidt 0x7c00 + idt_pointer - start
    int $0x30

    xor %eax, %eax
    mov $64000000, %ecx
work:
    movzwl %cx, %esi
    add %eax, 0x10000(%rsi)
    dec %ecx
    jnz work
    mov $0x3f8, %edx
    mov $'W', %al
    out %al, %dx

    mov $0x501, %edx            # isa-debug-exit: ends the emulator
    out %al, %dx
stop:
    hlt
    jmp stop

handler:
    mov $'I', %al
    out %al, %dx
    iretq

    .align 8
gdt:
    .quad 0
    .quad 0x00af9a000000ffff    # 64-bit code
    .quad 0x00cf92000000ffff    # data
gdt_pointer:
    .word 23
    .long 0x7c00 + gdt - start
idt_pointer:
    .word 0x30f
    .quad 0x4000

.org 510
    .word 0xaa55

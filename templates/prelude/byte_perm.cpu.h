// byte_perm (CPU): four bytes chosen from eight, one a nibble of the selector; a nibble's high bit
// spreads the byte's sign over it.
KILN_FN unsigned int __byte_perm(unsigned int x, unsigned int y, unsigned int selector)
{
    unsigned long long both = (unsigned long long)y << 32 | x;
    unsigned int r = 0;
    for (int k = 0; k < 4; k++) {
        unsigned int choice = selector >> (4 * k);
        unsigned int byte = (unsigned int)(both >> (8 * (choice & 7))) & 0xff;
        if (choice & 8)
            byte = byte & 0x80 ? 0xff : 0;
        r |= byte << (8 * k);
    }
    return r;
}

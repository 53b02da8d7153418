/// Asks the processor to fetch memory, and does not wait for it. Swift has no function for this.
///
/// Nothing is read: the address may be invalid, or other threads may write the memory.
static inline void swappable_prefetch(const void *address, long byteCount) {
  const char *end = (const char *)address + byteCount;
  const char *line = (const char *)((unsigned long)address / 64 * 64);
  for (; line < end; line += 64) __builtin_prefetch(line, 1);
}

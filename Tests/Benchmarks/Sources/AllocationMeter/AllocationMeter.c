#include "AllocationMeter.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#if defined(__GLIBC__)

#include <malloc.h>

// A program may replace glibc's allocator with functions of the same names ("Replacing malloc" in its manual). All
// libraries then call these functions, which count and call the allocator itself.

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *block);

static atomic_bool is_counting = false;
static atomic_long live = 0;
static atomic_long peak = 0;
static atomic_long blocks = 0;

static void *counted(void *block) {
  if (is_counting && block) {
    blocks += 1;
    long size = (long)malloc_usable_size(block);
    long now = atomic_fetch_add(&live, size) + size;
    long highest = peak;
    while (now > highest && !atomic_compare_exchange_weak(&peak, &highest, now)) {}
  }
  return block;
}

static void uncount(void *block) {
  if (is_counting && block) live -= (long)malloc_usable_size(block);
}

void *malloc(size_t size) { return counted(__libc_malloc(size)); }

void *calloc(size_t count, size_t size) { return counted(__libc_calloc(count, size)); }

void *realloc(void *block, size_t size) {
  size_t before = is_counting && block ? malloc_usable_size(block) : 0;
  void *result = __libc_realloc(block, size);
  // If no memory was found, the old block stays as it is.
  if (result || size == 0) live -= (long)before;
  return counted(result);
}

void *memalign(size_t alignment, size_t size) {
  return counted(__libc_memalign(alignment, size));
}

void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **result, size_t alignment, size_t size) {
  void *block = memalign(alignment, size);
  if (!block) return ENOMEM;
  *result = block;
  return 0;
}

void free(void *block) {
  uncount(block);
  __libc_free(block);
}

void allocation_meter_start(void) {
  live = 0;
  peak = 0;
  blocks = 0;
  is_counting = true;
}

size_t allocation_meter_stop(void) {
  is_counting = false;
  return (size_t)peak;
}

size_t allocation_meter_blocks(void) { return (size_t)blocks; }

size_t allocator_bytes_in_use(void) {
  struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

void allocator_keep_freed_memory(void) {
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, 0x7fffffff);
}

void allocator_return_freed_memory(void) { malloc_trim(0); }

#else

void allocation_meter_start(void) {}
size_t allocation_meter_stop(void) { return 0; }
size_t allocation_meter_blocks(void) { return 0; }
size_t allocator_bytes_in_use(void) { return 0; }
void allocator_keep_freed_memory(void) {}
void allocator_return_freed_memory(void) {}

#endif

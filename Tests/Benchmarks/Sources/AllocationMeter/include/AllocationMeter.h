#ifndef ALLOCATION_METER_H
#define ALLOCATION_METER_H

#include <stddef.h>

/// Begins to count the bytes that this process allocates and frees, from zero.
void allocation_meter_start(void);

/// Ends counting.
///
/// Returns the most bytes that were live at once, above those at the start, with the allocator's rounding;
/// 0 where the allocator cannot be replaced.
size_t allocation_meter_stop(void);

/// How many blocks were allocated between the last start and stop, grown ones included; 0 where the
/// allocator cannot be replaced.
size_t allocation_meter_blocks(void);

/// The bytes in all blocks that are allocated now, with the allocator's rounding; 0 without glibc.
size_t allocator_bytes_in_use(void);

/// From now on, keeps freed memory in the process, so that the same scratch is not faulted in twice.
void allocator_keep_freed_memory(void);

/// Gives freed memory back to the system, so that the next scratch must be faulted in.
void allocator_return_freed_memory(void);

#endif

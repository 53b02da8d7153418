#include "SwappablePQ.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

PQFunctions swappable_pq_load(void *library, const char **missing) {
  PQFunctions functions;
  *missing = NULL;
#define LOAD(name, symbol, type, parameters) \
  functions.name = (type(*) parameters)dlsym(library, #symbol); \
  if (!functions.name && !*missing) *missing = #symbol;
  SWAPPABLE_PQ_FUNCTIONS(LOAD)
  // When a process exits, OpenSSL would free what other threads use. The first call decides that.
  int (*initialize)(uint64_t, const void *) = (int (*)(uint64_t, const void *))dlsym(
    library, "OPENSSL_init_crypto");
  if (initialize) initialize(0x80000 /* OPENSSL_INIT_NO_ATEXIT */, NULL);
  return functions;
}

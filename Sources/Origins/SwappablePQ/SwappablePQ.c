#include "SwappablePQ.h"

#include <dlfcn.h>
#include <stddef.h>

PQFunctions swappable_pq_load(void *library, const char **missing) {
  PQFunctions functions;
  *missing = NULL;
#define LOAD(name, symbol, type, parameters) \
  functions.name = (type(*) parameters)dlsym(library, #symbol); \
  if (!functions.name && !*missing) *missing = #symbol;
  SWAPPABLE_PQ_FUNCTIONS(LOAD)
  return functions;
}

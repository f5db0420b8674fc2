# `make` builds the library, `make test` tests it.
FC = gfortran
CC ?= cc
FFLAGS ?= -O2 -std=f2008 -Wall -Wextra -fPIC
CFLAGS ?= -O2 -std=c11 -Wall -Wextra -fPIC
CPPFLAGS += -Iinclude

lib@stem@.so: include/cca.f90 @stem@.f90
	$(FC) $(FFLAGS) -shared -o $@ $^

test: test.c lib@stem@.so
	$(CC) $(CPPFLAGS) $(CFLAGS) -o test_@stem@ $^ -Wl,-rpath,'$$ORIGIN'
	./test_@stem@

clean:
	rm -f lib@stem@.so test_@stem@ cca.mod @stem@.mod

.PHONY: test clean

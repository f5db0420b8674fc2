# `make` builds the library.
FC = gfortran
FFLAGS ?= -O2 -std=f2008 -Wall -Wextra -fPIC

lib@stem@.so: include/cca.f90 include/cca_framework.f90 @stem@.f90
	$(FC) $(FFLAGS) -shared -o $@ $^

clean:
	rm -f lib@stem@.so cca.mod cca_framework.mod @stem@.mod

.PHONY: clean

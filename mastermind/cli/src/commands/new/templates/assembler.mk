# `make` builds the library.
CC ?= cc
CFLAGS ?= -O2 -std=c11 -Wall -Wextra -fPIC
CPPFLAGS += -Iinclude

lib@stem@.so: @stem@.c
	$(CC) $(CPPFLAGS) $(CFLAGS) -shared -o $@ $<

clean:
	rm -f lib@stem@.so

.PHONY: clean

# `make` builds the library.
CXX ?= c++
CXXFLAGS ?= -O2 -std=c++17 -Wall -Wextra -fPIC
CPPFLAGS += -Iinclude

lib@stem@.so: @stem@.cpp
	$(CXX) $(CPPFLAGS) $(CXXFLAGS) -shared -o $@ $<

clean:
	rm -f lib@stem@.so

.PHONY: clean

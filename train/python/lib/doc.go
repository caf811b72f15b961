// The C interface of hgld as a shared library: hgld.h says what it promises, and package call does the
// work. It is the only code with cgo. The build tag clib keeps it out of every other build, so that
// hgld itself needs no C compiler; scripts/build_wheel sets it.
package main

func main() {} // of a library nothing runs

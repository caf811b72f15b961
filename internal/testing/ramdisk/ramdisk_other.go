//go:build !linux

package ramdisk

// Use does nothing: other systems have no such place.
func Use() {}

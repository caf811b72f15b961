//go:build !linux

package cpu

// largePages does nothing: the system chooses the pages.
func largePages([]byte) {}

//go:build !linux

package child

// limit limits nothing: other systems do not keep to a limit of memory, such as RLIMIT_DATA on macOS.
func limit() (setMemory func(more int64) error, err error) {
	return func(int64) error { return nil }, nil
}

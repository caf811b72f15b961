package shards

import (
	"fmt"
	"strconv"
	"strings"
)

// ParseSize parses a size such as "500MB", "1.5 GB" or a number of bytes.
func ParseSize(text string) (int64, error) {
	units := []struct {
		suffix string
		bytes  float64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"KB", 1e3}, {"B", 1},
		{"", 1}}
	for _, u := range units {
		number, ok := strings.CutSuffix(text, u.suffix)
		if !ok {
			continue
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || !(v*u.bytes >= 1 && v*u.bytes < 1<<62) {
			break
		}
		return int64(v * u.bytes), nil
	}
	return 0, fmt.Errorf("%.80q is not a size; want one such as 500MB or 1GB", text)
}

// FormatSize formats a number of bytes with a decimal unit: "4.3 MB", "500 bytes".
func FormatSize(n int64) string {
	for _, u := range []struct {
		name  string
		bytes float64
	}{{"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}} {
		if float64(n) >= u.bytes {
			return fmt.Sprintf("%.1f %s", float64(n)/u.bytes, u.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}

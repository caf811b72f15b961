package shards

import "testing"

func TestSizesAreParsed(t *testing.T) {
	for text, want := range map[string]int64{"500MB": 5e8, "1.5 GB": 15e8, "2KiB": 2048, "17": 17, "1B": 1} {
		if got, err := ParseSize(text); err != nil || got != want {
			t.Errorf("%q is %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "huge", "0", "-1", "1e30GB", "NaN"} {
		if n, err := ParseSize(text); err == nil {
			t.Errorf("%q is %d", text, n)
		}
	}
	for n, want := range map[int64]string{999: "999 bytes", 1000: "1.0 kB", 4_300_000: "4.3 MB", 2e9: "2.0 GB"} {
		if got := FormatSize(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
}

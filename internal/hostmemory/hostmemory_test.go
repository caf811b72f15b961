package hostmemory

import (
	"os"
	"path/filepath"
	"testing"
)

func TestLimit(t *testing.T) {
	const (
		info = "proc/meminfo"
		v1   = "sys/fs/cgroup/memory/memory.limit_in_bytes"
		v2   = "sys/fs/cgroup/memory.max"
	)
	const meminfo = "MemTotal:       24683520 kB\nMemFree:  1 kB\nSwapTotal:       1048576 kB\nHugePages_Total:       0\n"
	const machine = (24683520 + 1048576) << 10
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"no file":           {nil, 0},
		"machine":           {map[string]string{info: meminfo}, machine},
		"without MemTotal":  {map[string]string{info: "SwapTotal: 5 kB\n"}, 0},
		"malformed":         {map[string]string{info: "MemTotal: many kB\nMemTotal\n:\n"}, 0},
		"group":             {map[string]string{info: meminfo, v2: "2147483648\n"}, 2<<30 + 1<<30},
		"unbounded group":   {map[string]string{info: meminfo, v2: "max\n"}, machine},
		"group of all":      {map[string]string{info: meminfo, v2: "99999999999999"}, machine},
		"old group":         {map[string]string{info: meminfo, v1: "4096"}, 4096 + 1<<30},
		"unbounded, old":    {map[string]string{v1: "9223372036854771712"}, 0},
		"group, no machine": {map[string]string{v2: "8192"}, 8192},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for file, text := range c.files {
				path := filepath.Join(root, file)
				if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			if got := limit(root); got != c.want {
				t.Errorf("%d bytes, want %d", got, c.want)
			}
		})
	}
}

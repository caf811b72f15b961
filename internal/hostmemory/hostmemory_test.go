package hostmemory

import (
	"os"
	"path/filepath"
	"testing"

	"hgld/internal/testing/must"
)

type files map[string]string

func TestLimit(t *testing.T) {
	const (
		info = "proc/meminfo"
		v1   = "sys/fs/cgroup/memory/memory.limit_in_bytes"
		v2   = "sys/fs/cgroup/memory.max"
		own  = "proc/self/cgroup"
		low1 = "sys/fs/cgroup/memory/user/job/memory.limit_in_bytes"
		low2 = "sys/fs/cgroup/user/job/memory.max"
		mid2 = "sys/fs/cgroup/user/memory.max"
	)
	const meminfo = "MemTotal:       24683520 kB\nMemFree:  1 kB\nSwapTotal:       1048576 kB\nHugePages_Total:       0\n"
	const machine = (24683520 + 1048576) << 10
	for name, c := range map[string]struct {
		files files
		want  int64
	}{
		"no file":           {nil, 0},
		"machine":           {files{info: meminfo}, machine},
		"without MemTotal":  {files{info: "SwapTotal: 5 kB\n"}, 0},
		"malformed":         {files{info: "MemTotal: many kB\nMemTotal\n:\n"}, 0},
		"group":             {files{info: meminfo, v2: "2147483648\n"}, 2<<30 + 1<<30},
		"unbounded group":   {files{info: meminfo, v2: "max\n"}, machine},
		"group of all":      {files{info: meminfo, v2: "99999999999999"}, machine},
		"old group":         {files{info: meminfo, v1: "4096"}, 4096 + 1<<30},
		"unbounded, old":    {files{v1: "9223372036854771712"}, 0},
		"group below":       {files{info: meminfo, own: "0::/user/job\n", low2: "4096", mid2: "max"}, 4096 + 1<<30},
		"group above":       {files{info: meminfo, own: "0::/user/job\n", low2: "max", mid2: "8192"}, 8192 + 1<<30},
		"old group below":   {files{info: meminfo, own: "5:hugetlb,memory:/user/job\n", low1: "4096"}, 4096 + 1<<30},
		"another's group":   {files{info: meminfo, own: "0::/user/mine\n", low2: "4096"}, machine},
		"odd groups":        {files{info: meminfo, own: "0\n::\n0::/../..\n", v2: "4096"}, 4096 + 1<<30},
		"group, no machine": {files{v2: "8192"}, 8192},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for file, text := range c.files {
				path := filepath.Join(root, file)
				must.Do(t, os.MkdirAll(filepath.Dir(path), 0o777))
				must.Do(t, os.WriteFile(path, []byte(text), 0o666))
			}
			if got := limit(root); got != c.want {
				t.Errorf("%d bytes, want %d", got, c.want)
			}
		})
	}
}

// Package hostmemory reports how much memory the machine can give to this process.
package hostmemory

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Limit returns the most bytes that the process can ever have: the memory of the machine,
// or less if a control group of Linux bounds it, plus its swap. It is 0 if that is unknown,
// as on systems other than Linux.
func Limit() int64 { return limit("/") }

// limit is [Limit] for the system whose files lie under root.
func limit(root string) int64 {
	bytes, swap := machine(filepath.Join(root, "proc/meminfo"))
	for _, file := range bounds(root) {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		// "max" and the huge number of an unlimited group of version 1 bound nothing.
		n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		if err == nil && n > 0 && (bytes == 0 || n < bytes) && n < 1<<60 {
			bytes = n
		}
	}
	if bytes == 0 {
		return 0
	}
	return bytes + swap
}

// bounds lists the files that bound the memory of the process's control groups: its own and
// all above, since each bounds those below it. In a container the process sees its own group
// as the topmost.
func bounds(root string) []string {
	text, _ := os.ReadFile(filepath.Join(root, "proc/self/cgroup")) // without it, the topmost remain
	var list []string
	for line := range strings.Lines(string(text) + "0::/\n0:memory:/\n") {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3) // number, controllers, group
		if len(fields) < 3 {
			continue
		}
		folder, file := "sys/fs/cgroup", "memory.max" // version 2
		if fields[1] != "" {
			if !slices.Contains(strings.Split(fields[1], ","), "memory") {
				continue
			}
			folder, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes" // version 1
		}
		for group := path.Clean("/" + fields[2]); ; group = path.Dir(group) {
			list = append(list, filepath.Join(root, folder, group, file))
			if group == "/" {
				break
			}
		}
	}
	return list
}

// machine returns MemTotal and SwapTotal of a meminfo file in bytes, 0 for what is not
// there.
func machine(path string) (memory, swap int64) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, 0
	}
	found := map[string]int64{}
	for line := range strings.Lines(string(text)) {
		name, rest, _ := strings.Cut(line, ":")
		if fields := strings.Fields(rest); len(fields) > 0 {
			if n, err := strconv.ParseInt(fields[0], 10, 64); err == nil && n >= 0 && n < 1<<50 {
				found[name] = n << 10
			}
		}
	}
	return found["MemTotal"], found["SwapTotal"]
}

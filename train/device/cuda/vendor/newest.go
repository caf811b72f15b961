package vendor

import (
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"hgld/internal/regular"
)

// newest sorts the paths of a cuDNN: usable ones first, then the latest release first. Releases are read from the
// names and headers beside a library, because a process that opens two releases mixes their parts. A library whose
// release cannot be told stands first among its kind, as the caller wanted it.
func newest(paths []string, usable func(toolkit int) bool) []string {
	type candidate struct {
		path    string
		usable  bool
		release []int
	}
	all := make([]candidate, len(paths))
	for i, path := range paths {
		release, toolkit := describe(path)
		all[i] = candidate{path, toolkit == 0 || usable(toolkit), release}
	}
	slices.SortStableFunc(all, func(a, b candidate) int {
		switch {
		case a.usable != b.usable:
			return map[bool]int{true: -1, false: 1}[a.usable]
		case a.release == nil || b.release == nil:
			return cmp.Compare(len(a.release), len(b.release))
		}
		return slices.Compare(b.release, a.release)
	})
	sorted := make([]string, len(all))
	for i, c := range all {
		sorted[i] = c.path
	}
	return sorted
}

var (
	releaseOfName   = regexp.MustCompile(`\.so\.(\d+)\.(\d+)\.(\d+)$`)
	releaseOfHeader = regexp.MustCompile(`(?s)CUDNN_MAJOR (\d+).*CUDNN_MINOR (\d+).*CUDNN_PATCHLEVEL (\d+)`)
	toolkitOfWheel  = regexp.MustCompile(`nvidia_cudnn_cu(\d+)-`)
)

// describe returns the release of the cuDNN at a path, nil if it cannot be told, and the major version of its CUDA if
// it comes from a Python package, otherwise 0.
func describe(path string) (release []int, toolkit int) {
	path, err := filepath.EvalSymlinks(where(path))
	if err != nil {
		return nil, 0
	}
	found := releaseOfName.FindStringSubmatch(path)
	if found == nil {
		header, _ := regular.ReadFile(filepath.Join(filepath.Dir(path), "../include/cudnn_version.h"))
		found = releaseOfHeader.FindStringSubmatch(string(header))
	}
	for _, digits := range found[min(1, len(found)):] {
		n, _ := strconv.Atoi(digits)
		release = append(release, n)
	}
	wheels, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "../../../nvidia_cudnn_cu*.dist-info"))
	if len(wheels) == 1 {
		toolkit, _ = strconv.Atoi(toolkitOfWheel.FindStringSubmatch(wheels[0] + "-")[1])
	}
	return release, toolkit
}

// where returns the file that the system's loader opens for a path or a name, or "".
func where(path string) string {
	folders := filepath.SplitList(os.Getenv("LD_LIBRARY_PATH"))
	if strings.Contains(path, "/") {
		folders = []string{""}
	}
	for _, dir := range folders {
		file := filepath.Join(dir, path)
		if _, err := os.Stat(file); err == nil {
			return file
		}
	}
	cache, _ := regular.ReadFile("/etc/ld.so.cache") // each of its paths ends with a zero byte
	before, _, found := bytes.Cut(cache, []byte("/"+path+"\x00"))
	if !found {
		return ""
	}
	return string(before[bytes.LastIndexByte(before, 0)+1:]) + "/" + path
}

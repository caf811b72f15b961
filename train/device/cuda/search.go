package cuda

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// LibrariesVariable names folders, as PATH does, in which the libraries of CUDA are
// looked for first.
const LibrariesVariable = "HGLD_CUDA_LIBS"

// candidates lists where a library may be, in the order in which they are tried: the
// folders of HGLD_CUDA_LIBS; where the system's loader looks; CUDA's usual folders;
// the packages nvidia-* of python3. If HGLD_CUDA_LIBS is set and one of its folders
// has the library, nothing else is tried.
func candidates(name string) []string {
	for _, dir := range filepath.SplitList(os.Getenv(LibrariesVariable)) {
		if path := filepath.Join(dir, name); exists(path) {
			return []string{path}
		}
	}
	paths := []string{name}
	for _, pattern := range []string{
		"/usr/local/cuda/lib64/" + name,
		"/usr/local/cuda/compat/" + name,
		"/usr/lib/wsl/lib/" + name,
	} {
		if exists(pattern) {
			paths = append(paths, pattern)
		}
	}
	return append(paths, pythonPackages(name)...)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// pythonPackages finds a library below site-packages/nvidia of the python3 on the
// PATH, without starting it: its prefix is the folder above the one it lies in.
func pythonPackages(name string) []string {
	python, err := exec.LookPath("python3")
	if err != nil {
		return nil
	}
	if resolved, err := filepath.EvalSymlinks(python); err == nil && filepath.Base(filepath.Dir(python)) != "bin" {
		python = resolved
	}
	prefix := filepath.Dir(filepath.Dir(python))
	var found []string
	for _, packages := range []string{"site-packages", "dist-packages"} {
		paths, _ := filepath.Glob(filepath.Join(prefix, "lib", "python3*", packages, "nvidia", "*", "lib", name))
		found = append(found, paths...)
	}
	slices.Sort(found)
	return slices.DeleteFunc(found, func(path string) bool { return strings.Contains(path, "/stubs/") })
}

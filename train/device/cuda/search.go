package cuda

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// LibrariesVariable lists folders, in the format of PATH, that are searched first for the
// libraries of CUDA.
const LibrariesVariable = "HGLD_CUDA_LIBS"

// candidates lists the possible paths of a library in the order of trial: the folders of
// HGLD_CUDA_LIBS, the system loader's, CUDA's usual folders, and the nvidia-* packages of
// python3. If a folder of HGLD_CUDA_LIBS contains the library, nothing else is tried.
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

// pythonPackages finds a library below site-packages/nvidia of the python3 on the PATH without
// starting it. Its prefix is the parent of the folder that contains it.
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

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
// python3 or those of its conda environment. If a folder of HGLD_CUDA_LIBS contains the library, nothing else is tried.
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

// pythonPackages finds a library below site-packages/nvidia of the python3 on the PATH, or in the
// lib folder of its conda environment, without starting it.
func pythonPackages(name string) []string {
	var found []string
	for _, prefix := range pythonPrefixes() {
		var paths []string
		if conda := filepath.Join(prefix, "lib", name); exists(filepath.Join(prefix, "conda-meta")) && exists(conda) {
			paths = append(paths, conda)
		}
		for _, lib := range []string{"lib", "lib64"} {
			for _, packages := range []string{"site-packages", "dist-packages"} {
				more, _ := filepath.Glob(filepath.Join(prefix, lib, "python3*", packages, "nvidia", "*", "lib", name))
				slices.Sort(more)
				paths = append(paths, more...)
			}
		}
		for _, path := range paths {
			if !strings.Contains(path, "/stubs/") && !slices.Contains(found, path) {
				found = append(found, path)
			}
		}
	}
	return found
}

// pythonPrefixes lists the folders whose lib has packages of the python3 on the PATH. The first is
// the parent of the folder that contains it. A system's Python has further packages in /usr/local,
// where pip installs as root, and every Python that of a user.
func pythonPrefixes() (prefixes []string) {
	python, err := exec.LookPath("python3")
	if err != nil {
		return nil
	}
	bin := filepath.Dir(python)
	if resolved, err := filepath.EvalSymlinks(python); err == nil && filepath.Base(bin) != "bin" {
		bin = filepath.Dir(resolved)
	}
	prefix := filepath.Dir(bin)
	switch {
	case filepath.Base(bin) == "shims": // of pyenv: scripts that choose among its versions
		prefixes, _ = filepath.Glob(filepath.Join(prefix, "versions", pyenvVersion(prefix)))
	case prefix == "/usr", prefix == "/":
		prefixes = []string{"/usr/local", "/usr"}
	default:
		prefixes = []string{prefix}
	}
	if home, err := os.UserHomeDir(); err == nil && !exists(filepath.Join(prefix, "pyvenv.cfg")) {
		prefixes = append(prefixes, filepath.Join(home, ".local"))
	}
	return prefixes
}

// pyenvVersion returns the version that pyenv chooses, or a pattern of all.
func pyenvVersion(root string) string {
	version := os.Getenv("PYENV_VERSION")
	if version == "" {
		text, _ := os.ReadFile(filepath.Join(root, "version"))
		version = string(text)
	}
	version, _, _ = strings.Cut(strings.TrimSpace(version), "\n")
	if version, _, _ = strings.Cut(version, ":"); version == "" {
		return "*"
	}
	return version
}

package embeddings

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hgld/internal/atomicfile"
	"hgld/internal/registry"
)

// tables lists the extensions of label files that are looked for beside vectors.
var tables = []string{".csv", ".tsv"}

// LabelsFor returns the file with the labels of vectors. It is labelFile if given, or the
// vectors' own file if that has classes, or a .csv or .tsv with the same name beside it.
// It returns "" if there is none. Two such tables are an error.
func LabelsFor(labelFile, vectors string) (string, error) {
	if labelFile != "" || vectors == "" {
		return labelFile, nil
	}
	found, err := beside(vectors, tables)
	if err != nil {
		return "", err
	}
	var own bool // the vectors' file has the labels
	switch extension := filepath.Ext(vectors); {
	case extension == ".parquet" && len(found) == 0:
		own = true
	case extension == ".parquet":
		own, err = hasClasses(vectors)
	default:
		own, err = hasLabels(vectors)
	}
	switch {
	case err != nil:
		return "", err
	case own:
		return vectors, nil
	case len(found) > 1:
		return "", &TwoTablesError{found, vectors}
	case len(found) == 1:
		return found[0], nil
	}
	return "", nil
}

// hasClasses reports whether a Parquet file has a column of classes. It also returns true if the
// file is missing or not sound, so that the caller opens it and reports why.
func hasClasses(path string) (bool, error) {
	t, err := openTable(path)
	if err != nil {
		return !atomicfile.IsUnreadable(err), ifUnreadable(err)
	}
	defer t.Close()
	_, _, err = t.levels(&reading{})
	return err == nil, ifUnreadable(err)
}

// ifUnreadable keeps an error of the system and drops those that the reader of the file finds, too.
func ifUnreadable(err error) error {
	if atomicfile.IsUnreadable(err) {
		return err
	}
	return nil
}

// beside lists the files with the name of path and one of the extensions. It returns an error if
// the system cannot tell whether a file exists.
func beside(path string, extensions []string) (found []string, err error) {
	stem := strings.TrimSuffix(path, filepath.Ext(path))
	if stem == "" {
		return nil, nil
	}
	for _, extension := range extensions {
		switch _, err := os.Stat(stem + extension); {
		case err == nil:
			found = append(found, stem+extension)
		case !atomicfile.IsMissing(err):
			return nil, err
		}
	}
	return found, nil
}

// Tables lists the .csv and .tsv files in the folder of a file, to suggest them as labels.
func Tables(path string) (found []string) {
	folder := filepath.Dir(path)
	files, err := os.ReadDir(folder)
	if err != nil {
		return nil
	}
	for _, f := range files {
		if slices.Contains(tables, filepath.Ext(f.Name())) && f.Type().IsRegular() {
			found = append(found, filepath.Join(folder, f.Name()))
		}
	}
	return found
}

// IsKind reports whether the extension of a file is one that [Open] reads.
func IsKind(path string) bool { return slices.Contains(kinds, filepath.Ext(path)) }

// CheckKind returns the error that [Open] returns for a file whose extension it does not read.
func CheckKind(path string) error {
	if IsKind(path) {
		return nil
	}
	return unknownKind(path)
}

// IsTable reports whether a file has the extension of a label table.
func IsTable(path string) bool { return slices.Contains(tables, filepath.Ext(path)) }

// Meant guesses which file of vectors was meant by a path that does not exist: one with the same
// name and another extension, or with an extension added. It returns "" if there is none, or more
// than one.
func Meant(path string) string {
	found, err := beside(path, kinds)
	if err == nil && filepath.Ext(path) != "" {
		var more []string
		more, err = beside(path+".x", kinds) // the name itself contains a dot
		found = append(found, more...)
	}
	if err != nil || len(found) != 1 || found[0] == path {
		return ""
	}
	return found[0]
}

// unknownKind is the error for a file that [Open] does not read.
func unknownKind(path string) error {
	return &KindError{Path: path, Err: registry.Unknown("kind of file", filepath.Ext(path), kinds)}
}

package dataset

import (
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"hgld/internal/usage"
	"hgld/labels"
	"hgld/shards"
)

// ofParts is the end of a file name that says which of how many parts it is.
var ofParts = regexp.MustCompile(`[-_.]?(\d+)[-_.]of[-_.](\d+)([-_.][0-9a-f]{8,})?$`)

// part is a file of a data set: number n of so many, or 0 of 0 for a name that does not say that.
type part struct {
	file  string
	n, of int
}

// inputFile is a file of a data set of several.
type inputFile struct {
	name  string // within the input, with slashes
	path  string // on the system
	split labels.Split
	named bool // the name or a setting gave the split
}

// inputFiles returns the files of the input that have an extension, in the order of their names, and what a
// user should know about them. A part that is missing is an error.
func inputFiles(s Settings, ext string) (files []inputFile, notes []string, err error) {
	names, err := filesIn(s.Input, ext)
	if err != nil {
		return nil, nil, err
	}
	if notes, err = checkParts(names); err != nil {
		return nil, nil, err
	}
	splits, named, err := fileSplits(names, s)
	if err != nil {
		return nil, nil, err
	}
	info, err := os.Stat(s.Input)
	if err != nil {
		return nil, nil, err
	}
	for i, name := range names {
		file := inputFile{name: name, path: s.Input, split: splits[i], named: named[i]}
		if info.IsDir() {
			file.path = filepath.Join(s.Input, filepath.FromSlash(name))
		}
		files = append(files, file)
	}
	return files, notes, nil
}

// filesIn lists the files of a data set that have an extension, sorted: paths within a folder, or the
// name of the file. Hidden files and folders are left out.
func filesIn(input, ext string) ([]string, error) {
	info, err := os.Stat(input)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{filepath.Base(input)}, nil
	}
	var names []string
	log, kind := "", ""
	arrow := "" // a file of datasets.save_to_disk
	err = fs.WalkDir(os.DirFS(input), ".", func(name string, d fs.DirEntry, err error) error {
		if of := logKind(name); of != "" && log == "" {
			log, kind = name, of
		}
		switch {
		case err != nil:
			return err
		case name != "." && hiddenName(d.Name()):
			if d.IsDir() {
				return fs.SkipDir
			}
		case !d.IsDir() && strings.EqualFold(path.Ext(name), ext):
			names = append(names, name)
		case !d.IsDir() && path.Ext(name) == ".arrow":
			arrow = name
		}
		return nil
	})
	if err == nil && log != "" && ext == ".parquet" {
		return nil, usage.Errorf("%s is the log of a table of %s, which says which of the files belong to it: without it, "+
			"deleted rows would be read; write the table as Parquet by a program that reads the log, and name that file",
			log, kind)
	}
	if slices.ContainsFunc(names, func(name string) bool { return path.Dir(name) == "data" }) { // as hgld publishes shards
		names = slices.DeleteFunc(names, func(name string) bool {
			return name == shards.LabelsFile || name == shards.AttributionFile
		})
	}
	switch {
	case err != nil || len(names) > 0:
		return names, err
	case arrow != "":
		return nil, fmt.Errorf("no %s files found; %s is a file of Arrow, as save_to_disk of the library datasets writes: "+
			"write each split as Parquet, such as load_from_disk(FOLDER)[\"train\"].to_parquet(\"train.parquet\")", ext, arrow)
	}
	return nil, fmt.Errorf("no %s files found", ext)
}

// tableLogs are the logs of tables that keep files of former versions beside the present ones, and the programs that
// write such tables.
var tableLogs = []struct{ log, kind string }{{"_delta_log", "Delta Lake"}, {".hoodie", "Hudi"},
	{"metadata/*.metadata.json", "Iceberg"}, {"_versions", "Lance"}}

// hasTableLog reports whether there is a log in a folder or in a folder there.
func hasTableLog(folder string) bool {
	return slices.ContainsFunc(tableLogs, func(of struct{ log, kind string }) bool {
		return len(firstMatches(folder, of.log, "*/"+of.log)) > 0
	})
}

// logKind returns the program whose log a file or folder is, "" if it is none.
func logKind(name string) string {
	for _, of := range tableLogs {
		parts := strings.Split(name, "/")
		last := path.Join(parts[max(0, len(parts)-1-strings.Count(of.log, "/")):]...)
		if is, _ := path.Match(of.log, last); is {
			return of.kind
		}
	}
	return ""
}

// partitions returns the columns that the folders of a file name, as in label=cat/part-0.parquet.
func partitions(file string) map[string]string {
	columns := map[string]string{}
	for folder := range strings.SplitSeq(path.Dir(file), "/") {
		column, cell, is := strings.Cut(folder, "=")
		if text, err := url.PathUnescape(cell); is && err == nil {
			columns[column] = strings.TrimPrefix(text, "__HIVE_DEFAULT_PARTITION__") // no class
		}
	}
	return columns
}

// withoutPartitions returns the name of a file without the folders that name columns, but for those of the splits.
func withoutPartitions(file, split string) string {
	parts := slices.DeleteFunc(strings.Split(file, "/"), func(part string) bool {
		column, _, is := strings.Cut(part, "=")
		return is && !strings.EqualFold(column, split)
	})
	return strings.Join(parts, "/")
}

// checkParts returns an error unless the files are all parts that their names speak of, once each. Of a lone
// file of several parts, and of files whose plain numbers have a gap, there is a note.
func checkParts(files []string) (notes []string, err error) {
	sets := map[string][]part{} // by folder and name without numbers
	for _, file := range files {
		bare := strings.TrimSuffix(file, path.Ext(file))
		p := part{file: file}
		if m := ofParts.FindStringSubmatch(bare); m != nil {
			n, errN := strconv.Atoi(m[1])
			of, errOf := strconv.Atoi(m[2])
			if errN == nil && errOf == nil {
				p.n, p.of = n, of
			}
		}
		set := numbering.ReplaceAllString(bare, "")
		sets[set] = append(sets[set], p)
	}
	for _, set := range slices.Sorted(maps.Keys(sets)) {
		parts := sets[set]
		for _, p := range parts[1:] {
			if p.of != parts[0].of {
				return nil, fmt.Errorf("%s and %s seem to be two versions of the same images, side by side; keep the files of one",
					parts[0].file, p.file)
			}
		}
		switch err := completeParts(parts); {
		case err != nil && len(files) == 1:
			notes = append(notes, fmt.Sprintf("%s is part %d of %d, and the others are not read", parts[0].file, parts[0].n,
				parts[0].of))
		case err != nil:
			return nil, err
		}
		if gap := numberGap(parts); gap != "" {
			notes = append(notes, gap)
		}
	}
	return notes, nil
}

// plainNumber is a number with zeros before it at the end of a name.
var plainNumber = regexp.MustCompile(`(?:^|\D)(0\d{2,})$`)

// numberGap says which number is missing among files that end in plain numbers; "" if none is.
func numberGap(parts []part) string {
	var numbers []int
	for _, p := range parts {
		m := plainNumber.FindStringSubmatch(strings.TrimSuffix(p.file, path.Ext(p.file)))
		if p.of > 0 || m == nil {
			return ""
		}
		n, err := strconv.Atoi(m[1])
		if err != nil {
			return ""
		}
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	for i, n := range numbers[1:] {
		if n > numbers[i]+1 {
			return fmt.Sprintf("the numbers of the files go to %d, and %d is missing: see that no file is (%s)",
				numbers[len(numbers)-1], numbers[i]+1, parts[0].file)
		}
	}
	return ""
}

// completeParts returns an error unless each part of a set is there once. The first is number 0 or 1.
func completeParts(parts []part) error {
	of := parts[0].of
	if of == 0 {
		return nil
	}
	there := map[int]string{}
	for _, p := range parts {
		if other, twice := there[p.n]; twice {
			return fmt.Errorf("%s and %s are both part %d of %d; keep one", other, p.file, p.n, of)
		}
		if there[p.n] = p.file; p.n > of {
			return fmt.Errorf("%s is part %d of %d, which does not exist", p.file, p.n, of)
		}
	}
	first := 0
	if there[0] == "" && there[of] != "" {
		first = 1
	}
	if len(parts) == of {
		return nil
	}
	return fmt.Errorf("%d of the %d parts of %s are missing: %s; download them, or rename the others if they are to be "+
		"all", of-len(parts), of, parts[0].file, missingParts(there, first, of))
}

// missingParts lists the numbers of missing parts.
func missingParts(there map[int]string, first, of int) string {
	const few = 6
	var list []string
	for n := first; n < first+of && len(list) <= few; n++ {
		if there[n] == "" {
			list = append(list, strconv.Itoa(n))
		}
	}
	if len(list) > few {
		list[few] = "…"
	}
	return strings.Join(list, ", ")
}

// checkConfigurations returns an error if files of one split lie in different folders, apart from those
// that gave the split: configurations of a data set hold the same images again.
func checkConfigurations(files []string, splits []labels.Split, asked map[string]bool) error {
	if asked[asClasses] {
		return nil
	}
	first := map[labels.Split]string{}
	for i, file := range files {
		var folders []string
		for folder := range strings.SplitSeq(path.Dir(file), "/") {
			if !asked[folder] && splitIn(folder) == "" && !strings.Contains(folder, "=") {
				folders = append(folders, folder)
			}
		}
		at := path.Join(folders...)
		if other, known := first[splits[i]]; known && other != at {
			return fmt.Errorf("files of the split %s lie in two folders, %s and %s, as configurations of one data set do, "+
				"which hold the same images; name one of the folders as the input", splits[i], folderName(other), folderName(at))
		}
		first[splits[i]] = at
	}
	return nil
}

func folderName(name string) string {
	if name == "" {
		return "the top"
	}
	return name
}

package dataset

import (
	"cmp"
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hgld/internal/atomicfile"
	"hgld/internal/download"
	"hgld/internal/regular"
	"hgld/labels"
	"hgld/shards"
)

// GLDv2Address is where Google Landmarks v2 is published.
const GLDv2Address = "https://s3.amazonaws.com/google-landmark"

// gldv2TARs are the numbers of TARs of the splits: about 1 GB each of train, 850 MB of index, 500 MB of test.
var gldv2TARs = []struct {
	split labels.Split
	count int
}{{labels.Train, 500}, {labels.Index, 100}, {labels.Test, 20}}

// gldv2Metadata are the tables, which lie in metadata/.
var gldv2Metadata = []string{gldv2Train, gldv2Clean, gldv2Credits, "train_label_to_category.csv",
	"train_label_to_hierarchical.csv", gldv2Index, "index_label_to_category.csv", "index_label_to_hierarchical.csv",
	gldv2Solution}

// Fetch says which files of Google Landmarks v2 to fetch, and where to store them.
type Fetch struct {
	From   string         // address of the folder with metadata, md5sum, train, index and test
	Dir    string         // folder to write, as the importer reads it
	Tables bool           // fetch the tables of landmarks alone: their pages and their labels
	Splits []labels.Split // whose TARs are wanted; none: all three
	First  int            // fetch only so many TARs of each split; 0: all
	Slice  int            // fetch only every Of-th file, from this one on, counted from 1
	Of     int            // number of slices
	Disk   int64          // bytes that the folder may hold; 0: any number

	// Done, if set, is called after every file. kept says that it was there already.
	Done func(name string, bytes int64, kept bool)
	// Progress, if set, is called as a file arrives.
	Progress func(name string, done, total int64)
	// Sleep waits between two attempts; nil: for the time.
	Sleep func(ctx context.Context, d time.Duration) error
}

// DiskError reports that a file would take more space than the folder may hold.
type DiskError struct {
	Name              string // of the file
	Bytes, Used, Most int64  // of the file, or of what has arrived; of the folder's other files; that the folder may hold
}

// Error states the sizes.
func (e *DiskError) Error() string {
	return fmt.Sprintf("%s has %s, the folder holds %s, and it may hold %s", e.Name, shards.FormatSize(e.Bytes),
		shards.FormatSize(e.Used), shards.FormatSize(e.Most))
}

// Files lists the files of all slices, by their names below the address. The name below the folder is the same.
func (f *Fetch) Files() []string {
	var list []string
	for _, name := range gldv2Metadata {
		if !f.Tables || strings.Contains(name, "_label_to_") {
			list = append(list, "metadata/"+name)
		}
	}
	for _, s := range gldv2TARs {
		if f.Tables || len(f.Splits) > 0 && !slices.Contains(f.Splits, s.split) {
			continue
		}
		for i := range min(s.count, cmp.Or(f.First, s.count)) {
			list = append(list, fmt.Sprintf("%s/images_%03d.tar", s.split, i))
		}
	}
	return list
}

// FetchGLDv2 fetches the files of a slice that are not there yet. Each is written beside its name, compared with its
// published MD5 sum as it arrives, and named when it is complete and what it should be: a file under its name need not
// be read again. What a portal sends in place of a table or a sum is an error, and nothing of it is kept. A TAR
// with another sum is fetched once more; then it becomes a *shards.InputError, after all other files. A transfer that
// fails for the moment is a *download.TemporaryError, and the next call continues it.
func FetchGLDv2(ctx context.Context, f Fetch) error {
	if f.Of == 0 {
		f.Slice, f.Of = 1, 1
	}
	var damaged []error
	for i, name := range f.Files() {
		if i%f.Of != f.Slice-1 {
			continue
		}
		err := f.file(ctx, name)
		if errors.As(err, new(*shards.InputError)) {
			damaged = append(damaged, err)
			continue
		}
		if err != nil {
			return errors.Join(append(damaged, err)...)
		}
	}
	return errors.Join(damaged...)
}

// file fetches one file.
func (f *Fetch) file(ctx context.Context, name string) error {
	to := filepath.Join(f.Dir, filepath.FromSlash(name))
	isTAR := strings.HasSuffix(name, ".tar")
	if info, err := os.Stat(to); err == nil {
		if !isTAR {
			if err := checkTable(to, true); err != nil {
				return &shards.InputError{Err: fmt.Errorf("%s: %w; remove it, and it is fetched again", to, err)}
			}
		}
		f.done(name, info.Size(), true)
		return nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := atomicfile.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	want := ""
	if isTAR {
		var err error
		if want, err = f.sum(ctx, name, to); err != nil {
			return err
		}
	}
	const tries = 2
	for try := 1; ; try++ {
		sum, sized := md5.New(), false
		r := download.Request{URL: f.address(name), Part: to + ".part", Sleep: f.Sleep, Sum: sum,
			Accept: func(total int64, stated bool) error {
				sized = stated
				return f.fits(name, to+".part", total)
			}}
		if f.Progress != nil {
			r.Progress = func(done, total int64) { f.Progress(name, done, total) }
		}
		got, err := download.Fetch(ctx, r)
		if err != nil {
			return err
		}
		if is := hex.EncodeToString(sum.Sum(nil)); want != "" && is != want {
			if err := download.Remove(r.Part); err != nil {
				return err
			}
			if try == tries {
				return &shards.InputError{Err: fmt.Errorf("%s: its MD5 is %s, but the published one is %s, after %d transfers",
					name, is, want, tries)}
			}
			continue
		}
		if isTAR {
			err = listMembers(ctx, r.Part, to, want)
		} else if err = checkTable(r.Part, sized); err != nil {
			err = f.refuse(name, r.Part, err)
		}
		if err != nil {
			return err
		}
		if err := publish(r.Part, to); err != nil {
			return err
		}
		f.done(name, got.Bytes, false)
		return nil
	}
}

// listMembers writes the list of the members of a TAR. A TAR that cannot be read gets none: the importer names its
// fault.
func listMembers(ctx context.Context, part, to, md5 string) error {
	st, err := indexTar(ctx, part)
	if err != nil {
		return ctx.Err()
	}
	return errors.Join(writeMembers(to, md5, st.places()), st.Close())
}

// publish gives a complete file its name.
func publish(part, to string) error {
	if err := os.Rename(part, to); err != nil {
		return err
	}
	if err := atomicfile.SyncDir(filepath.Dir(to)); err != nil {
		return err
	}
	return download.Remove(part)
}

func (f *Fetch) done(name string, bytes int64, kept bool) {
	if f.Done != nil {
		f.Done(name, bytes, kept)
	}
}

func (f *Fetch) address(name string) string { return strings.TrimSuffix(f.From, "/") + "/" + name }

// sum returns the published MD5 sum of a TAR. It fetches the file with the sum, and keeps it beside the TAR.
func (f *Fetch) sum(ctx context.Context, name, to string) (string, error) {
	if sum, err := publishedMD5(to); sum != "" || err != nil {
		return sum, err
	}
	split, base := path.Split(name)
	file := "md5." + strings.TrimSuffix(base, ".tar") + ".txt"
	at := filepath.Join(filepath.Dir(to), file)
	const most = 4096
	_, err := download.Fetch(ctx, download.Request{URL: f.address("md5sum/" + split + file), Part: at + ".part",
		Sleep: f.Sleep, Unsized: most})
	if err != nil {
		return "", err
	}
	text, err := regular.ReadFile(at + ".part")
	if err != nil {
		return "", err
	}
	sum, err := parseMD5(text)
	if err != nil {
		return "", f.refuse("md5sum/"+split+file, at+".part", err)
	}
	return sum, publish(at+".part", at)
}

// refuse removes what a server sent in place of a file, and returns the error that says so.
func (f *Fetch) refuse(name, part string, err error) error {
	address, _ := download.Public(f.address(name))
	return errors.Join(&download.AnswerError{URL: address, Reason: err.Error()}, download.Remove(part))
}

// checkTable looks at the ends of a table. Its first line must name columns, one of them id or landmark_id: a page of
// a portal does not. The last line of a table whose size the server did not state must be complete.
func checkTable(path string, sized bool) error {
	f, err := regular.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var start [4096]byte
	n, err := io.ReadFull(f, start[:])
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return err
	}
	line, _, _ := strings.Cut(strings.TrimPrefix(string(start[:n]), "\ufeff"), "\n")
	columns := strings.Split(strings.TrimSpace(line), ",")
	if !slices.Contains(columns, "id") && !slices.Contains(columns, "landmark_id") {
		return fmt.Errorf("it begins with %.80q, and is no table of the data set: want the columns id or landmark_id", line)
	}
	if sized {
		return nil
	}
	var last [1]byte
	if end, err := f.Seek(-1, io.SeekEnd); err != nil {
		return err
	} else if _, err := f.ReadAt(last[:], end); err != nil {
		return err
	}
	if last[0] != '\n' {
		return errors.New("it ends within a line, and the server did not say how long it is: the transfer was cut")
	}
	return nil
}

// fits returns a *DiskError if a file of total bytes does not fit into the folder. Partial files count with the size
// that they will have, as far as their records say it.
func (f *Fetch) fits(name, part string, total int64) error {
	if f.Disk == 0 {
		return nil
	}
	used := int64(0)
	err := filepath.WalkDir(f.Dir, func(at string, e fs.DirEntry, err error) error {
		if err != nil || at == part || !e.Type().IsRegular() || strings.HasSuffix(at, download.StatePath(".part")) {
			return ignoreMissing(err)
		}
		info, err := e.Info()
		if err != nil {
			return ignoreMissing(err)
		}
		size := info.Size()
		if strings.HasSuffix(at, ".part") {
			size = max(size, download.Size(at))
		}
		used += size
		return nil
	})
	if err != nil {
		return err
	}
	if used+total > f.Disk {
		return &DiskError{Name: name, Bytes: total, Used: used, Most: f.Disk}
	}
	return nil
}

// ignoreMissing returns nil for a file that another process has renamed or removed meanwhile.
func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

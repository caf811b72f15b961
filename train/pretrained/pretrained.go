// Package pretrained stores files of weights that were trained elsewhere. It fetches them from an
// address or copies them from a file, checks their SHA-256 and that they fit their network, and
// writes safetensors with a record of their origin.
//
// A file of torch.save is converted without executing anything in it. A safetensors file is kept
// byte for byte. Both files are written atomically, the record last.
package pretrained

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"hgld/internal/atomicfile"
	"hgld/internal/download"
	"hgld/internal/filehash"
	"hgld/internal/regular"
	"hgld/internal/tensorfile"
	"hgld/internal/terminal"
	"hgld/internal/torchfile"
	"hgld/train/backbone"
)

// Version is the format version of the record.
const Version = 1

// Record describes a file of weights and its origin.
type Record struct {
	Version int    `json:"version"` // the format version
	Name    string `json:"name"`    // the network that the weights fit

	// From is the path of the file as given, or the public part of the address, see [download.Public].
	From   string `json:"from"`
	Bytes  int64  `json:"bytes"`  // the size of the fetched file
	SHA256 string `json:"sha256"` // the hash of the fetched file

	// Key is the dictionary of a checkpoint that was asked for, see [Read].
	Key        string   `json:"key,omitempty"`
	Dictionary string   `json:"dictionary,omitempty"`         // the one that was read
	Others     []string `json:"other_dictionaries,omitempty"` // the dictionaries that were not

	// Converted is set if the fetched file was written by torch.save.
	Converted bool   `json:"converted"`
	Tensors   int    `json:"tensors"`       // the number of tensors
	Stored    string `json:"stored_sha256"` // the SHA-256 of the safetensors file

	// Settings are the files or the public addresses that Stated is from, if they were named.
	Settings []string `json:"settings,omitempty"`

	// Stated is what they or the files beside a fetched file say of its images.
	Stated []backbone.Preprocessing `json:"stated,omitempty"`
}

// Options select what to fetch.
type Options struct {
	Name   string // the known network that the weights must fit; "": any
	From   string // an address (http, https) or a file
	SHA256 string // the expected hash of the file, in hexadecimal; "": not known
	Key    string // the dictionary of a checkpoint to read, see [Read]

	// Settings are addresses or files that say how the images are prepared; their names must be among
	// [CompanionNames]. Files beside the weights need not be named.
	Settings []string

	stated  []backbone.Preprocessing // what they say
	Out     string                   // the safetensors file to write
	Replace bool                     // allows replacing an Out of another origin

	// Progress, if set, is called with the bytes so far and in total; the total is 0 if unknown.
	Progress func(done, total int64)
}

// Result describes what Fetch did.
type Result struct {
	Record
	Out      string          `json:"out"`   // the safetensors file
	There    bool            `json:"there"` // set if Out already existed, from the same origin
	Transfer download.Result `json:"-"`     // describes the download
}

// Errors that callers distinguish.
var (
	// ErrSum is wrapped by the error of a file with another SHA-256.
	ErrSum = errors.New("the sha256 differs")

	// ErrExists is wrapped by the error of an existing Out.
	ErrExists = errors.New("already exists")

	// ErrUnrecorded is wrapped by the error of an existing Out whose address is not recorded as a whole,
	// so that only its SHA-256 could tell that it is the same.
	ErrUnrecorded = errors.New("the record leaves out parts of the address that may be secret")

	// ErrFit is wrapped by the error of weights for another network.
	ErrFit = errors.New("the weights do not fit")
)

// RecordPath returns the path of the record beside a file of weights.
func RecordPath(out string) string { return strings.TrimSuffix(out, filepath.Ext(out)) + ".json" }

// Fetch fetches a file of weights and stores it at o.Out. An unchanged Out of the same origin is
// not fetched again. A failed download leaves a partial file beside Out, which the next call
// continues.
func Fetch(ctx context.Context, o Options) (Result, error) {
	there, same, err := o.existing(ctx)
	if err != nil || same {
		return Result{Record: there, Out: o.Out, There: same}, err
	}
	if err := atomicfile.MkdirAll(filepath.Dir(o.Out), 0o755); err != nil {
		return Result{}, err
	}
	if o.stated, err = o.fetchStated(ctx); err != nil { // first: a wrong one costs no long download
		return Result{Out: o.Out}, err
	}
	if !download.IsAddress(o.From) {
		r, err := o.storeFile(ctx, o.From)
		return Result{Record: r, Out: o.Out}, err
	}
	part := o.partPath()
	transfer, err := download.Fetch(ctx, download.Request{URL: o.From, Part: part, Progress: o.Progress})
	if err != nil {
		return Result{Out: o.Out, Transfer: transfer}, err
	}
	r, err := o.storeFile(ctx, part)
	if err == nil || errors.Is(err, ErrSum) || errors.As(err, new(*torchfile.FormatError)) ||
		errors.As(err, new(*tensorfile.FormatError)) {
		err = errors.Join(err, download.Remove(part)) // the same bytes would fail again
	}
	return Result{Record: r, Out: o.Out, Transfer: transfer}, err
}

// origin returns From as it is recorded and printed, and whether that is all of it.
func (o Options) origin() (from string, whole bool) {
	if download.IsAddress(o.From) {
		return download.Public(o.From)
	}
	return o.From, true
}

// settings returns Settings as they are recorded.
func (o Options) settings() (list []string) {
	for _, from := range o.Settings {
		public, _ := Options{From: from}.origin()
		list = append(list, public)
	}
	return list
}

// partPath returns the partial file of an address. It depends on the public part of the address but
// not on the name of the network.
func (o Options) partPath() string {
	from, _ := o.origin()
	sum := sha256.Sum256([]byte(from))
	return filepath.Join(filepath.Dir(o.Out), ".fetch-"+hex.EncodeToString(sum[:6])+".part")
}

// namedSum finds the first digits of a file's SHA-256 in its name, as torchvision and timm write them.
var namedSum = regexp.MustCompile(`-([0-9a-f]{8,64})\.(pth|pt|bin|safetensors)$`)

// expected returns the SHA-256 that the file must have, or its first digits, and how it is known if not from o.SHA256:
// from an earlier fetch of the address, or from the name. A name that ends in decimal digits alone may end in a date.
func (o Options) expected() (want, why string) {
	if o.SHA256 != "" {
		return strings.ToLower(o.SHA256), ""
	}
	from, whole := o.origin()
	if r, err := ReadRecord(o.Out); err == nil && r.From == from && whole && download.IsAddress(from) {
		return r.SHA256, ", as when it was first fetched: " + RecordPath(o.Out)
	}
	if m := namedSum.FindStringSubmatch(settingsName(from)); m != nil && strings.ContainsAny(m[1], "abcdef") {
		return m[1], "…, as its name says"
	}
	return "", ""
}

// existing returns the record of an existing Out that need not be fetched. It fails if Out has
// another origin or was changed, unless o.Replace is set.
func (o Options) existing(ctx context.Context) (r Record, there bool, err error) {
	sum, _, err := filehash.SHA256(ctx, o.Out)
	if errors.Is(err, fs.ErrNotExist) {
		return r, false, nil
	}
	if err != nil {
		return r, false, err
	}
	r, err = ReadRecord(o.Out)
	from, whole := o.origin()
	same := err == nil && r.From == from && r.Name == o.Name && r.Key == o.Key && r.Stored == sum &&
		slices.Equal(r.Settings, o.settings()) && (o.SHA256 == "" || strings.EqualFold(o.SHA256, r.SHA256))
	switch {
	case same && (whole || o.SHA256 != ""):
		return r, true, nil
	case o.Replace:
		return Record{}, false, nil
	case err != nil:
		return Record{}, false, fmt.Errorf("%s %w without a record of its origin", o.Out, ErrExists)
	case same:
		return Record{}, false, fmt.Errorf("%s %w: it is from %s; %w", o.Out, ErrExists, r.From, ErrUnrecorded)
	case r.Stored != sum:
		return Record{}, false, fmt.Errorf("%s %w and was changed after it was fetched from %s", o.Out, ErrExists, r.From)
	}
	return Record{}, false, fmt.Errorf("%s %w: it is from %s, for %s, with sha256 %s", o.Out, ErrExists, r.From, r.Name,
		r.SHA256)
}

// ReadRecord reads the record of a file of weights.
func ReadRecord(out string) (Record, error) {
	data, err := regular.ReadFile(RecordPath(out))
	if err != nil {
		return Record{}, err
	}
	var r Record
	if err := json.Unmarshal(data, &r); err != nil {
		return Record{}, fmt.Errorf("%s: %w", RecordPath(out), err)
	}
	if r.Version > Version {
		return Record{}, fmt.Errorf("%s has version %d; this hgld reads up to %d", RecordPath(out), r.Version, Version)
	}
	return r, nil
}

// storeFile is store of the file at path.
func (o Options) storeFile(ctx context.Context, path string) (Record, error) {
	in, err := regular.Open(path)
	if err != nil {
		return Record{}, err
	}
	defer in.Close()
	return o.store(ctx, in)
}

// store checks what in has and writes Out and its record. It reads once, into a copy beside Out. The
// hash, the tensors and Out are those of the copy, even if a file changes meanwhile.
func (o Options) store(ctx context.Context, in io.Reader) (Record, error) {
	raw, err := atomicfile.Create(o.Out)
	if err != nil {
		return Record{}, err
	}
	defer raw.Close()
	h := sha256.New()
	size, err := filehash.Copy(ctx, io.MultiWriter(raw, h), in)
	if err != nil {
		return Record{}, err
	}
	from, whole := o.origin()
	stated := o.stated
	if whole && !download.IsAddress(o.From) {
		beside, err := Stated(o.From)
		if err != nil {
			return Record{}, err
		}
		stated = append(stated, beside...)
	}
	sum := hex.EncodeToString(h.Sum(nil))
	if want, why := o.expected(); !strings.HasPrefix(sum, want) {
		return Record{}, fmt.Errorf("%s: %w: it is %s, want %s%s", from, ErrSum, sum, want, why)
	}
	w, err := readTensors(raw, size, o.Key)
	if err != nil {
		return Record{}, fmt.Errorf("%s: %w", from, err)
	}
	if err := o.fits(w.Tensors); err != nil {
		return Record{}, err
	}
	stored := sum
	if w.Converted || o.Key != "" {
		stored, err = o.convert(w.Tensors)
	} else {
		err = raw.Commit()
	}
	if err != nil {
		return Record{}, err
	}
	r := Record{Version: Version, Name: o.Name, From: from, Bytes: size, SHA256: sum, Key: o.Key, Dictionary: w.Key,
		Others: w.Others, Converted: w.Converted, Tensors: len(w.Tensors), Stored: stored, Settings: o.settings(),
		Stated: stated}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return r, err
	}
	return r, atomicfile.WriteFile(RecordPath(o.Out), append(text, '\n'))
}

// readTensors reads size bytes of safetensors or torch.save.
func readTensors(f io.ReaderAt, size int64, key string) (*Weights, error) {
	head := make([]byte, 9)
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch {
	case n == len(head) && head[8] == '{' && bytes.Equal(head[5:8], []byte{0, 0, 0}): // header length, then JSON
		w, err := readSafetensors(f, size)
		if err == nil {
			w.Tensors, err = under(w.Tensors, key)
		}
		return w, err
	case head[0] == '<':
		return nil, &torchfile.FormatError{Reason: "it is a web page, want the address of the file itself"}
	}
	c, err := torchfile.Select(f, size, key)
	return &Weights{Tensors: c.Tensors, Key: c.Key, Others: c.Others, Converted: true}, err
}

func readSafetensors(r io.ReaderAt, size int64) (*Weights, error) {
	f, err := tensorfile.ReadSafetensors(r, size)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	w := &Weights{Metadata: f.Metadata}
	for _, name := range f.Names() {
		t, err := f.Tensor(name)
		if err != nil {
			return nil, err
		}
		w.Tensors = append(w.Tensors, t)
	}
	return w, nil
}

// fits checks that the tensors fit the network.
func (o Options) fits(tensors []tensorfile.Tensor) error {
	if o.Name == "" {
		return nil
	}
	list, err := backbone.KnownNetworks()
	if err != nil {
		return err
	}
	from, _ := o.origin()
	var found []string
	var own backbone.Fit
	for _, f := range backbone.FitAll(list, tensors) {
		if f.Name == o.Name {
			own = f
		}
		if f.Fits {
			found = append(found, f.Name)
		}
	}
	switch {
	case own.Fits:
		return nil
	case len(found) > 0:
		return fmt.Errorf("%s: %w %s; they fit %s", from, ErrFit, o.Name, strings.Join(found, ", "))
	}
	return fmt.Errorf("%s: %w %s: %s %s missing%s, %d unexpected%s, %d of another shape%s", from, ErrFit,
		o.Name, terminal.Count(len(own.Missing), "tensor"), terminal.Are(len(own.Missing)), first(own.Missing),
		len(own.Unexpected), first(own.Unexpected), len(own.Shapes), first(own.Shapes))
}

func first(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return " (" + names[0] + ")"
}

// convert writes Out as safetensors and returns its SHA-256.
func (o Options) convert(tensors []tensorfile.Tensor) (string, error) {
	h := sha256.New()
	err := atomicfile.Write(o.Out, func(w io.Writer) error {
		return tensorfile.WriteSafetensors(io.MultiWriter(w, h), tensors, map[string]string{"format": "pt"})
	})
	return hex.EncodeToString(h.Sum(nil)), err
}

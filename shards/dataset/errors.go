package dataset

import "fmt"

// SettingError is an error that another value of a setting may mend.
type SettingError struct {
	Setting string   // key of [Settings] as a file of settings has it: levels, columns.path
	Values  []string // values that would do, if some are known
	Err     error    // what is wrong with its value
}

// Error is the text of Err.
func (e *SettingError) Error() string { return e.Err.Error() }

// Unwrap returns the error itself.
func (e *SettingError) Unwrap() error { return e.Err }

// setting returns a function that makes a [SettingError].
func setting(key string, values ...string) func(format string, args ...any) error {
	return func(format string, args ...any) error {
		return &SettingError{key, values, fmt.Errorf(format, args...)}
	}
}

// NotShardsError is the error for images, a table or another file in place of a folder of
// shards.
type NotShardsError struct {
	Path      string // of the file or folder
	Image     string // the first image, if Path contains images
	Buildable bool   // shards can be built from it
}

// Error names what stands there, and what is read.
func (e *NotShardsError) Error() string {
	switch {
	case e.Image != "":
		return fmt.Sprintf("%s contains images (%s), but training and evaluation read shards", e.Path, e.Image)
	case e.Buildable:
		return fmt.Sprintf("data is %s, but training and evaluation read a folder of shards", e.Path)
	}
	return fmt.Sprintf("data is the file %s; want a folder of shards", e.Path)
}

// NameError is the error for a folder or an image whose name is not UTF-8. Names are texts of shards, tables
// and labels, which other programs read as UTF-8.
type NameError struct {
	Name string // its path in the folder, with slashes
}

// Error names it.
func (e *NameError) Error() string { return fmt.Sprintf("the name %.200q is not UTF-8", e.Name) }

// NoPictureError is the error for an image that does not exist.
type NoPictureError struct {
	Path string // as it was named
	Err  error  // of the file system
}

// Error is the text of Err.
func (e *NoPictureError) Error() string { return e.Err.Error() }

// Unwrap returns the error of the file system.
func (e *NoPictureError) Unwrap() error { return e.Err }

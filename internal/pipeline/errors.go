package pipeline

import (
	"fmt"
	"time"

	"hgld/internal/settings"
)

// StagesError lists the mistakes in the settings of the stages of a run.
type StagesError struct{ Err error }

// Error is the text of Err, which names the stages.
func (e *StagesError) Error() string { return e.Err.Error() }

// Unwrap returns the mistakes, joined.
func (e *StagesError) Unwrap() error { return e.Err }

// NoProjectError is the error of a command that needs a project and has none.
type NoProjectError struct {
	Dir string // folder that the command line named, or "" for the current folder and its parents
}

// Error names the file that is missed, and the folder.
func (e *NoProjectError) Error() string {
	if e.Dir == "" {
		return fmt.Sprintf("there is no %s here or in any parent folder", ProjectFile)
	}
	return fmt.Sprintf("no %s in %s", ProjectFile, e.Dir)
}

// StageDisabledError is the error for a stage that the project does not use.
type StageDisabledError struct {
	Stage string // its name
	File  string // hgld.yaml, which lists the stages in use
}

// Error names the stage, and the key that would switch it on.
func (e *StageDisabledError) Error() string {
	return fmt.Sprintf("stage %s is off: %s lists the stages in use under \"%s\"", e.Stage, e.File, StagesKey)
}

// ChangedError is the error for an input that differs from what an earlier stage wrote.
type ChangedError struct {
	Project  *Project  // in which it was found
	Reader   string    // command of the stage that would read the file
	Path     string    // path as in the settings
	Writer   string    // command of the stage that wrote it
	Written  time.Time // end of that stage
	Kept     bool      // that stage overwrites it only if the user allows it
	Was, Now string    // SHA-256
}

// Error names the file, its writer, and both hashes.
func (e *ChangedError) Error() string {
	return fmt.Sprintf("%s: %s was changed after `%s` wrote it on %s: its sha256 is %s, and was %s", e.Reader, e.Path,
		e.Writer, e.Written.Format(time.DateTime), e.Now, e.Was)
}

// MissingInputError is the error for an input that does not exist.
type MissingInputError struct {
	Project *Project        // in which it is missing
	Command string          // command of the stage that would read the file
	Path    string          // path as in the settings
	Writer  string          // command of the stage in use that writes the file, or ""
	Setting *settings.Field // setting that names the file, or nil
}

// Error names the command and the file that it reads.
func (e *MissingInputError) Error() string {
	return fmt.Sprintf("%s: %s does not exist", e.Command, e.Path)
}

// StoppedError is the error of a run that ended before its last stage, since some items of a
// stage failed.
type StoppedError struct {
	Project   *Project // that runs
	Stage     string   // last stage that ran
	Next      string   // command of the stage after it
	Retryable bool     // the same command may succeed with what failed
}

// Error names the last stage that ran.
func (e *StoppedError) Error() string { return "run: stopped after " + e.Stage }

package embeddings

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"hgld/internal/regular"
)

// NoTextsError says that an array has no file with the texts of its rows.
type NoTextsError struct {
	// Path is the file of the array.
	Path string

	// Tried are the two file names that were looked for.
	Tried [2]string
}

// Error names the array and the missing files.
func (e *NoTextsError) Error() string {
	return fmt.Sprintf("%s: the texts of its rows are missing: want %s or %s", e.Path, e.Tried[0], e.Tried[1])
}

// ReadTexts reads the texts of the rows of an array: from the file given, or else from the
// array's companion file with the ending .json (an array of strings, or an object with one
// as "texts") or .txt (one text per line). It returns the name of the file that it read, and
// a *NoTextsError if there is no companion file.
func ReadTexts(array, given string) (list string, texts []string, err error) {
	stem := strings.TrimSuffix(array, filepath.Ext(array))
	companions := [2]string{stem + ".json", stem + ".txt"}
	tries := companions[:]
	if given != "" {
		tries = []string{given}
	}
	for _, list = range tries {
		data, err := regular.ReadFile(list)
		if errors.Is(err, fs.ErrNotExist) && given == "" {
			continue
		}
		if err != nil {
			return list, nil, err
		}
		texts, err = parseTexts(data, strings.EqualFold(filepath.Ext(list), ".json"))
		if err != nil {
			return list, nil, fmt.Errorf("%s: %w", list, err)
		}
		return list, texts, nil
	}
	return "", nil, &NoTextsError{array, companions}
}

// parseTexts reads a list of texts.
func parseTexts(data []byte, isJSON bool) ([]string, error) {
	if !utf8.Valid(data) {
		return nil, errors.New("is not UTF-8, want a text file")
	}
	if !isJSON {
		text := strings.TrimSuffix(strings.TrimPrefix(string(data), "\ufeff"), "\n")
		if text == "" {
			return []string{}, nil
		}
		lines := strings.Split(text, "\n")
		windows := func(line string) bool { return strings.HasSuffix(line, "\r") }
		if !slices.ContainsFunc(lines, func(line string) bool { return !windows(line) }) {
			for i := range lines {
				lines[i] = strings.TrimSuffix(lines[i], "\r")
			}
		}
		return lines, nil
	}
	texts := []string{}
	if err := json.Unmarshal(data, &texts); err == nil {
		return texts, nil
	}
	var object struct {
		Texts []string `json:"texts"`
	}
	if err := json.Unmarshal(data, &object); err != nil || object.Texts == nil {
		return nil, errors.New(`want an array of strings, or an object with one as "texts"`)
	}
	return object.Texts, nil
}

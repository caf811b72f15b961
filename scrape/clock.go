package scrape

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

// AnswerClock returns the clock for Answer.Fetched: the system's, or the fixed time in
// $SOURCE_DATE_EPOCH.
func AnswerClock() (func() time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		return time.Now, nil
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("SOURCE_DATE_EPOCH: %.80q is not a number of seconds since 1970", text)
	}
	return func() time.Time { return time.Unix(seconds, 0) }, nil
}

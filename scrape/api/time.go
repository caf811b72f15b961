package api

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// wikibaseTime matches times such as "+1172-05-00T00:00:00Z". A year has up to 16 digits, and
// parts beyond the precision are 00.
var wikibaseTime = regexp.MustCompile(`^([+-])(\d{1,16})-(\d\d)-(\d\d)T`)

// The precisions of a time that are finer than a year.
const (
	precisionMonth = 10
	precisionDay   = 11
)

// printedTime formats a time as the infobox does, up to its precision: day, month or year.
// Times less precise than a year are printed as a year.
func printedTime(data []byte) (string, bool) {
	var v struct {
		Time      string
		Precision int64
	}
	if json.Unmarshal(data, &v) != nil {
		return "", false
	}
	m := wikibaseTime.FindStringSubmatch(v.Time)
	if m == nil {
		return "", false
	}
	year, err := strconv.ParseUint(m[2], 10, 63)
	if err != nil {
		return "", false
	}
	text := strconv.FormatUint(year, 10)
	month, _ := strconv.Atoi(m[3]) // two digits
	day, _ := strconv.Atoi(m[4])
	if v.Precision >= precisionMonth && 1 <= month && month <= 12 {
		text = time.Month(month).String() + " " + text
		if v.Precision >= precisionDay && day > 0 {
			text = fmt.Sprintf("%d %s", day, text)
		}
	}
	if m[1] == "-" {
		text += " BC"
	}
	return text, true
}

package parquetfile

import (
	"strconv"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
)

// Integer writes a value of an integer column that is not null. Parquet stores unsigned integers in signed ones.
func (l Leaf) Integer(v parquet.Value) string {
	switch {
	case v.Kind() == parquet.Int32 && l.unsigned():
		return strconv.FormatUint(uint64(v.Uint32()), 10)
	case v.Kind() == parquet.Int32:
		return strconv.FormatInt(int64(v.Int32()), 10)
	case l.unsigned():
		return strconv.FormatUint(v.Uint64(), 10)
	}
	return strconv.FormatInt(v.Int64(), 10)
}

func (l Leaf) unsigned() bool {
	if of, is := l.logical().(*format.IntType); is {
		return !of.IsSigned
	}
	converted := l.column.Node.Type().ConvertedType()
	return converted != nil && *converted >= deprecated.Uint8 && *converted <= deprecated.Uint64
}

// Meaning says what the integers of a column stand for if they are no plain numbers, such as DATE and
// DECIMAL(9,2); otherwise it is "".
func (l Leaf) Meaning() string {
	if l.Kind != parquet.Int32 && l.Kind != parquet.Int64 {
		return ""
	}
	switch of := l.logical().(type) {
	case *format.DecimalType, *format.DateType, *format.TimeType, *format.TimestampType:
		return of.String()
	}
	switch converted := l.column.Node.Type().ConvertedType(); {
	case converted == nil:
	case *converted == deprecated.Decimal, *converted >= deprecated.Date && *converted <= deprecated.TimestampMicros:
		return "decimals, dates or times"
	}
	return ""
}

// logical returns the logical type, nil for none.
func (l Leaf) logical() format.LogicalTypeValue {
	if logical := l.column.Node.Type().LogicalType(); logical != nil {
		return logical.Value
	}
	return nil
}

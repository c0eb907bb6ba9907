//! Arrow arrays as the few types that a [`Table`](crate::Table) holds: `f32`, `f64`, `i64` and text.
//!
//! The kernels of `arrow-cast` convert between every two types of Arrow, and compiling them (with
//! `arrow-ord`, which only they need) took a seventh of the whole build. These give the same values.

use arrow_array::cast::AsArray;
use arrow_array::temporal_conversions as temporal;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, Int32Array, PrimitiveArray, RunArray};
use arrow_buffer::{ArrowNativeType, i256};
use arrow_schema::{ArrowError, DataType, IntervalUnit, TimeUnit};
use arrow_select::take::take;
use std::fmt::Debug;
use std::sync::Arc;

/// The values of a dictionary or of runs, one per row; any other array as it is.
pub(crate) fn unpack(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let plain = match array.data_type() {
        DataType::Dictionary(_, _) => {
            let dictionary = array.as_any_dictionary();
            take(dictionary.values(), dictionary.keys(), None)?
        }
        DataType::RunEndEncoded(ends, _) => match ends.data_type() {
            DataType::Int16 => unpack_runs::<Int16Type>(array)?,
            DataType::Int32 => unpack_runs::<Int32Type>(array)?,
            DataType::Int64 => unpack_runs::<Int64Type>(array)?,
            _ => return Err(unexpected(array, "runs")),
        },
        _ => return Ok(Arc::clone(array)),
    };
    unpack(&plain)
}

fn unpack_runs<R: RunEndIndexType>(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let Some(runs) = array.as_any().downcast_ref::<RunArray<R>>() else {
        return Err(unexpected(array, "runs"));
    };
    let ends = runs.run_ends().values();
    let mut run = runs.get_start_physical_index();
    let run_of_row = (runs.offset()..runs.offset() + runs.len()).map(|row| {
        if row == ends[run].as_usize() {
            run += 1;
        }
        run as i32
    });
    take(runs.values(), &Int32Array::from_iter_values(run_of_row), None)
}

/// Integers of up to 64 bits with a sign, or 32 without.
pub(crate) fn integers(array: &ArrayRef) -> Result<PrimitiveArray<Int64Type>, ArrowError> {
    Ok(match array.data_type() {
        DataType::Int8 => array.as_primitive::<Int8Type>().unary(i64::from),
        DataType::Int16 => array.as_primitive::<Int16Type>().unary(i64::from),
        DataType::Int32 => array.as_primitive::<Int32Type>().unary(i64::from),
        DataType::Int64 => array.as_primitive::<Int64Type>().clone(),
        DataType::UInt8 => array.as_primitive::<UInt8Type>().unary(i64::from),
        DataType::UInt16 => array.as_primitive::<UInt16Type>().unary(i64::from),
        DataType::UInt32 => array.as_primitive::<UInt32Type>().unary(i64::from),
        _ => return Err(unexpected(array, "an integer")),
    })
}

/// Defines the conversion of every numeric type to one type of float. What the float cannot hold is
/// rounded once to the nearest; what is too large becomes infinite.
macro_rules! to_float {
    ($(#[$doc:meta])* $name:ident, $decimal:ident, $float:ident, $target:ty, $half:ident,
     exact: $digits:literal, $power:literal) => {
        $(#[$doc])*
        pub(crate) fn $name(array: &ArrayRef) -> Result<PrimitiveArray<$target>, ArrowError> {
            if let Some(same) = array.as_primitive_opt::<$target>() {
                return Ok(same.clone());
            }
            Ok(match array.data_type() {
                DataType::Int8 => array.as_primitive::<Int8Type>().unary(|v| v as $float),
                DataType::Int16 => array.as_primitive::<Int16Type>().unary(|v| v as $float),
                DataType::Int32 => array.as_primitive::<Int32Type>().unary(|v| v as $float),
                DataType::Int64 => array.as_primitive::<Int64Type>().unary(|v| v as $float),
                DataType::UInt8 => array.as_primitive::<UInt8Type>().unary(|v| v as $float),
                DataType::UInt16 => array.as_primitive::<UInt16Type>().unary(|v| v as $float),
                DataType::UInt32 => array.as_primitive::<UInt32Type>().unary(|v| v as $float),
                DataType::UInt64 => array.as_primitive::<UInt64Type>().unary(|v| v as $float),
                DataType::Float16 => array.as_primitive::<Float16Type>().unary(|v| v.$half()),
                DataType::Float32 => array.as_primitive::<Float32Type>().unary(|v| v as $float),
                DataType::Float64 => array.as_primitive::<Float64Type>().unary(|v| v as $float),
                DataType::Decimal32(_, scale) => {
                    $decimal(array.as_primitive::<Decimal32Type>(), *scale, |v| Some(v.into()))
                }
                DataType::Decimal64(_, scale) => {
                    $decimal(array.as_primitive::<Decimal64Type>(), *scale, Some)
                }
                DataType::Decimal128(_, scale) => {
                    $decimal(array.as_primitive::<Decimal128Type>(), *scale, |v| v.try_into().ok())
                }
                DataType::Decimal256(_, scale) => {
                    let narrow = |v: i256| i64::try_from(v.to_i128()?).ok();
                    $decimal(array.as_primitive::<Decimal256Type>(), *scale, narrow)
                }
                _ => return Err(unexpected(array, "a number")),
            })
        }

        /// Where digits and power of ten are exact, one multiplication or division rounds once;
        /// otherwise the number is read from its text.
        fn $decimal<D: DecimalType>(
            array: &PrimitiveArray<D>,
            scale: i8,
            narrow: impl Fn(D::Native) -> Option<i64>,
        ) -> PrimitiveArray<$target> {
            let power = (scale.unsigned_abs() <= $power)
                .then(|| (10.0 as $float).powi(scale.unsigned_abs().into()));
            array.unary(|v| {
                let exact = narrow(v).filter(|digits| digits.unsigned_abs() < 1 << $digits);
                match (exact, power) {
                    (Some(digits), Some(power)) if scale >= 0 => digits as $float / power,
                    (Some(digits), Some(power)) => digits as $float * power,
                    _ => {
                        let text = D::format_decimal(v, u8::MAX, scale);
                        text.parse().expect("a formatted decimal is a number")
                    }
                }
            })
        }
    };
}

to_float! {
    /// Numbers in single precision.
    singles, decimal_singles, f32, Float32Type, to_f32, exact: 24, 10
}

to_float! {
    /// Numbers in double precision.
    doubles, decimal_doubles, f64, Float64Type, to_f64, exact: 53, 22
}

/// Adds texts, truth values (`true`, `false`), dates and times (ISO 8601), durations and intervals.
pub(crate) fn push_texts(
    out: &mut Vec<Option<String>>,
    array: &ArrayRef,
) -> Result<(), ArrowError> {
    let owned = |text: Option<&str>| text.map(str::to_owned);
    match array.data_type() {
        DataType::Utf8 => out.extend(array.as_string::<i32>().iter().map(owned)),
        DataType::LargeUtf8 => out.extend(array.as_string::<i64>().iter().map(owned)),
        DataType::Utf8View => out.extend(array.as_string_view().iter().map(owned)),
        DataType::Boolean => out.extend(array.as_boolean().iter().map(|v| Some(v?.to_string()))),
        DataType::Null => out.extend(std::iter::repeat_n(None, array.len())),
        DataType::Date32 => {
            let day = |v| temporal::date32_to_datetime(v).map(|at| at.date());
            push_times::<Date32Type, _>(out, array, "", day)?;
        }
        DataType::Date64 => {
            push_times::<Date64Type, _>(out, array, "", temporal::date64_to_datetime)?;
        }
        DataType::Time32(TimeUnit::Second) => {
            push_times::<Time32SecondType, _>(out, array, "", temporal::time32s_to_time)?;
        }
        DataType::Time32(_) => {
            push_times::<Time32MillisecondType, _>(out, array, "", temporal::time32ms_to_time)?;
        }
        DataType::Time64(TimeUnit::Microsecond) => {
            push_times::<Time64MicrosecondType, _>(out, array, "", temporal::time64us_to_time)?;
        }
        DataType::Time64(_) => {
            push_times::<Time64NanosecondType, _>(out, array, "", temporal::time64ns_to_time)?;
        }
        DataType::Timestamp(unit, zone) => {
            // Instants are told in UTC: the names of time zones need a data base that is not built in.
            let end = if zone.is_some() { "Z" } else { "" };
            match unit {
                TimeUnit::Second => push_instants::<TimestampSecondType>(out, array, end)?,
                TimeUnit::Millisecond => {
                    push_instants::<TimestampMillisecondType>(out, array, end)?;
                }
                TimeUnit::Microsecond => {
                    push_instants::<TimestampMicrosecondType>(out, array, end)?;
                }
                TimeUnit::Nanosecond => push_instants::<TimestampNanosecondType>(out, array, end)?,
            }
        }
        DataType::Duration(unit) => push_durations(out, array, *unit),
        DataType::Interval(unit) => push_intervals(out, array, *unit),
        _ => return Err(unexpected(array, "a text")),
    }
    Ok(())
}

fn push_instants<T: ArrowPrimitiveType<Native = i64>>(
    out: &mut Vec<Option<String>>,
    array: &ArrayRef,
    end: &str,
) -> Result<(), ArrowError> {
    push_times::<T, _>(out, array, end, temporal::as_datetime::<T>)
}

/// Adds what `convert` makes of each value, in ISO 8601; what is out of range is an error.
fn push_times<T: ArrowPrimitiveType, U: Debug>(
    out: &mut Vec<Option<String>>,
    array: &ArrayRef,
    end: &str,
    convert: impl Fn(T::Native) -> Option<U>,
) -> Result<(), ArrowError> {
    out.reserve(array.len());
    for value in array.as_primitive::<T>() {
        let Some(value) = value else {
            out.push(None);
            continue;
        };
        let Some(time) = convert(value) else {
            let detail = format!("{value:?} is out of the range of {}", array.data_type());
            return Err(ArrowError::CastError(detail));
        };
        out.push(Some(format!("{time:?}{end}")));
    }
    Ok(())
}

/// Adds durations in ISO 8601, such as `PT1.5S`.
fn push_durations(out: &mut Vec<Option<String>>, array: &ArrayRef, unit: TimeUnit) {
    let invalid = || "<invalid>".to_owned();
    match unit {
        TimeUnit::Second => {
            let text = |v| temporal::try_duration_s_to_duration(v).map(|d| d.to_string());
            let cells = array.as_primitive::<DurationSecondType>().iter();
            out.extend(cells.map(|v| Some(text(v?).unwrap_or_else(invalid))));
        }
        TimeUnit::Millisecond => {
            let text = |v| temporal::try_duration_ms_to_duration(v).map(|d| d.to_string());
            let cells = array.as_primitive::<DurationMillisecondType>().iter();
            out.extend(cells.map(|v| Some(text(v?).unwrap_or_else(invalid))));
        }
        TimeUnit::Microsecond => {
            let cells = array.as_primitive::<DurationMicrosecondType>().iter();
            out.extend(cells.map(|v| Some(temporal::duration_us_to_duration(v?).to_string())));
        }
        TimeUnit::Nanosecond => {
            let cells = array.as_primitive::<DurationNanosecondType>().iter();
            out.extend(cells.map(|v| Some(temporal::duration_ns_to_duration(v?).to_string())));
        }
    }
}

/// Adds intervals as PostgreSQL writes them, such as `2 mons 5 days 1 hours`.
fn push_intervals(out: &mut Vec<Option<String>>, array: &ArrayRef, unit: IntervalUnit) {
    match unit {
        IntervalUnit::YearMonth => {
            let text = |v: i32| format!("{} years {} mons", v.div_euclid(12), v.rem_euclid(12));
            let cells = array.as_primitive::<IntervalYearMonthType>().iter();
            out.extend(cells.map(|v| Some(text(v?))));
        }
        IntervalUnit::DayTime => {
            let text = |v: IntervalDayTime| {
                let seconds = Seconds { parts: v.milliseconds.into(), digits: 3 };
                interval(0, v.days, seconds)
            };
            let cells = array.as_primitive::<IntervalDayTimeType>().iter();
            out.extend(cells.map(|v| Some(text(v?))));
        }
        IntervalUnit::MonthDayNano => {
            let text = |v: IntervalMonthDayNano| {
                let seconds = Seconds { parts: v.nanoseconds, digits: 9 };
                interval(v.months, v.days, seconds)
            };
            let cells = array.as_primitive::<IntervalMonthDayNanoType>().iter();
            out.extend(cells.map(|v| Some(text(v?))));
        }
    }
}

/// A time in parts of 10^-digits seconds.
struct Seconds {
    parts: i64,
    digits: u32,
}

/// The parts of an interval that are not zero.
fn interval(months: i32, days: i32, Seconds { parts, digits }: Seconds) -> String {
    let unit = 10_i64.pow(digits);
    let (hours, minutes) = (parts / unit / 3600, parts / unit / 60 % 60);
    let (seconds, fraction) = (parts / unit % 60, parts % unit);
    let mut words = Vec::new();
    let named = [(i64::from(months), "mons"), (i64::from(days), "days"), (hours, "hours")];
    for (count, name) in named.into_iter().chain([(minutes, "mins")]) {
        if count != 0 {
            words.push(format!("{count} {name}"));
        }
    }
    if seconds != 0 || fraction != 0 {
        let sign = if seconds < 0 || fraction < 0 { "-" } else { "" };
        let (seconds, fraction) = (seconds.abs(), fraction.abs());
        words.push(format!("{sign}{seconds}.{fraction:0width$} secs", width = digits as usize));
    }
    if words.is_empty() { "0 secs".to_owned() } else { words.join(" ") }
}

fn unexpected(array: &ArrayRef, wanted: &str) -> ArrowError {
    ArrowError::CastError(format!("{} cannot be read as {wanted}", array.data_type()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{
        Date32Array, Date64Array, Decimal128Array, Decimal256Array, DictionaryArray,
        DurationMicrosecondArray, DurationSecondArray, Float16Array, Float64Array, Int8Array,
        IntervalDayTimeArray, IntervalMonthDayNanoArray, IntervalYearMonthArray, StringArray,
        Time32MillisecondArray, Time64NanosecondArray, TimestampMicrosecondArray,
        TimestampNanosecondArray, TimestampSecondArray, UInt64Array,
    };

    /// What `arrow-cast` 60.1 gives for the same arrays.
    fn texts(array: impl Array + 'static) -> Vec<String> {
        let mut out = Vec::new();
        push_texts(&mut out, &(Arc::new(array) as ArrayRef)).unwrap();
        out.into_iter().map(|text| text.unwrap_or_else(|| "-".to_owned())).collect()
    }

    fn decimal(value: i128, scale: i8) -> (f32, f64) {
        let array = Decimal128Array::from(vec![value]).with_precision_and_scale(38, scale).unwrap();
        let array: ArrayRef = Arc::new(array);
        (singles(&array).unwrap().value(0), doubles(&array).unwrap().value(0))
    }

    #[test]
    fn decimals_are_rounded_once() {
        assert_eq!(decimal(-375, 2), (-3.75, -3.75));
        assert_eq!(decimal(12, -3), (12_000.0, 12_000.0));
        assert_eq!(decimal(1, 38), (1e-38, 1e-38));
        // The nearest double is 2^53 + 2, and 2^24 + 1.0…01 is above the midpoint of two singles,
        // but its nearest double is the midpoint.
        assert_eq!(decimal(90_071_992_547_409_931, 1).1, 9_007_199_254_740_994.0);
        assert_eq!(decimal(16_777_217_000_000_000_001, 12).0, 16_777_218.0);
        assert_eq!(decimal(-16_777_217_000_000_000_001, 12).0, -16_777_218.0);
        let wide = Decimal256Array::from(vec![i256::MAX, i256::from(5)]);
        let wide: ArrayRef = Arc::new(wide.with_precision_and_scale(76, 0).unwrap());
        assert_eq!(doubles(&wide).unwrap().values(), &[2f64.powi(255), 5.0]);
        assert_eq!(singles(&wide).unwrap().values(), &[f32::INFINITY, 5.0]);
    }

    #[test]
    fn numbers_too_large_for_single_precision_become_infinite() {
        let array: ArrayRef = Arc::new(Float64Array::from(vec![1e300, -1e300, 0.1]));
        let values = singles(&array).unwrap();
        assert_eq!(values.values(), &[f32::INFINITY, f32::NEG_INFINITY, 0.1]);
        let array: ArrayRef = Arc::new(UInt64Array::from(vec![u64::MAX]));
        assert_eq!(doubles(&array).unwrap().value(0), 18_446_744_073_709_551_615.0);
        let halves = [half::f16::from_f32(0.5), half::f16::INFINITY];
        let array: ArrayRef = Arc::new(Float16Array::from(halves.to_vec()));
        assert_eq!(singles(&array).unwrap().values(), &[0.5, f32::INFINITY]);
    }

    #[test]
    fn gaps_stay_gaps() {
        let array: ArrayRef = Arc::new(Int8Array::from(vec![Some(-3), None]));
        assert_eq!(integers(&array).unwrap().iter().collect::<Vec<_>>(), [Some(-3), None]);
        assert_eq!(doubles(&array).unwrap().iter().collect::<Vec<_>>(), [Some(-3.0), None]);
        assert_eq!(texts(Date32Array::from(vec![None, Some(0)])), ["-", "1970-01-01"]);
    }

    #[test]
    fn dates_and_times_are_iso_8601() {
        assert_eq!(texts(Date64Array::from(vec![86_400_001])), ["1970-01-02T00:00:00.001"]);
        assert_eq!(texts(Time32MillisecondArray::from(vec![1_500])), ["00:00:01.500"]);
        assert_eq!(
            texts(Time64NanosecondArray::from(vec![61_000_000_001])),
            ["00:01:01.000000001"]
        );
        let seconds = vec![-1, 253_402_300_800];
        assert_eq!(
            texts(TimestampSecondArray::from(seconds.clone())),
            ["1969-12-31T23:59:59", "+10000-01-01T00:00:00"]
        );
        assert_eq!(
            texts(TimestampSecondArray::from(seconds).with_timezone("Europe/Berlin")),
            ["1969-12-31T23:59:59Z", "+10000-01-01T00:00:00Z"]
        );
        let micros = TimestampMicrosecondArray::from(vec![1_000_001]).with_timezone("+07:00");
        assert_eq!(texts(micros), ["1970-01-01T00:00:01.000001Z"]);
        assert_eq!(
            texts(TimestampNanosecondArray::from(vec![1])),
            ["1970-01-01T00:00:00.000000001"]
        );
    }

    #[test]
    fn a_time_out_of_range_is_an_error() {
        let mut out = Vec::new();
        let array: ArrayRef = Arc::new(TimestampSecondArray::from(vec![i64::MAX]));
        let error = push_texts(&mut out, &array).unwrap_err().to_string();
        assert!(error.contains("9223372036854775807 is out of the range of Timestamp"), "{error}");
    }

    #[test]
    fn durations_and_intervals_name_their_parts() {
        assert_eq!(texts(DurationSecondArray::from(vec![90, i64::MAX])), ["PT90S", "<invalid>"]);
        assert_eq!(texts(DurationMicrosecondArray::from(vec![-1_500_000])), ["-PT1.5S"]);
        assert_eq!(
            texts(IntervalYearMonthArray::from(vec![14, -1])),
            ["1 years 2 mons", "-1 years 11 mons"]
        );
        let day_time = [(0, 0), (2, 3_723_004), (0, -1_500)];
        let day_time = day_time.map(|(days, ms)| IntervalDayTime::new(days, ms));
        assert_eq!(
            texts(IntervalDayTimeArray::from(day_time.to_vec())),
            ["0 secs", "2 days 1 hours 2 mins 3.004 secs", "-1.500 secs"]
        );
        let nanos = IntervalMonthDayNano::new(1, -2, 60_000_000_000);
        assert_eq!(texts(IntervalMonthDayNanoArray::from(vec![nanos])), ["1 mons -2 days 1 mins"]);
    }

    #[test]
    fn dictionaries_and_runs_become_one_value_per_row() {
        let values = StringArray::from(vec![Some("red"), None, Some("blue")]);
        let keys = Int8Array::from(vec![Some(2), Some(1), None, Some(0)]);
        let dictionary: ArrayRef =
            Arc::new(DictionaryArray::new(keys, Arc::new(values.clone()) as ArrayRef));
        let plain = unpack(&dictionary).unwrap();
        let cells: Vec<_> = plain.as_string::<i32>().iter().collect();
        assert_eq!(cells, [Some("blue"), None, None, Some("red")]);
        let ends = arrow_array::Int16Array::from(vec![2, 3, 6]);
        let runs: ArrayRef = Arc::new(RunArray::try_new(&ends, &values).unwrap());
        let plain = unpack(&runs.slice(1, 4)).unwrap();
        let cells: Vec<_> = plain.as_string::<i32>().iter().collect();
        assert_eq!(cells, [Some("red"), None, Some("blue"), Some("blue")]);
    }
}

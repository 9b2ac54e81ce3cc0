//! Clocks: two logs that saw the same I/Os are put on one time axis, and their rows are joined.
//!
//! | file | what it does |
//! |---|---|
//! | `clock_map` | [`ClockMap`]: times of one clock as times of another |
//! | `sketch` | [`Sketch`]: a bounded sample of a capture's I/Os, the same I/Os in every capture |
//! | `votes` | pairs of sampled I/Os that may be one, and where their time differences gather |
//! | `line` | the line through those differences: offset and drift |
//! | `estimate` | [`estimate`]: all of that, and the tests that a good answer has to pass |
//! | `refusal` | [`Refusal`]: why two captures cannot be aligned |
//! | `group` | [`group`]: which captures of a host belong together, and how devices are named in them |
//! | `join` | [`Joiner`]: rows of several captures in time order to one item per I/O |
//! | `matching` | which of several I/Os of one place is which |
//! | `merged` | [`merged`]: the rows of one I/O as one row |
//! | `points` | [`PointTimes`]: times between the points of an I/O's way, within and across captures |
//! | `losses` | [`uncovered`]: which losses other captures do not make good |
//! | `tally` | [`PairTally`]: how well two captures agree, over all their I/Os |
//! | `reading` | [`read_joined`]: captures read side by side and joined |
//!
//! Nothing is assumed of the clocks: offsets may be nanoseconds or decades, drifts up to
//! [`MAX_DRIFT_PPM`]. **The answer is a line or a refusal, never a guess.**
//!
//! Bounds. A sketch holds at most two samples of its capacity, 32 bytes an I/O; an estimate at most
//! [`MAX_VOTES_PER_KEY`] votes for each key that both samples hold, sorted: n log n. Joining holds
//! the rows of the last 50 ms (262,144 at most, in all) and what the readers are ahead of each other,
//! a few ten thousand rows a capture, whatever the length of the captures.
//!
//! What is not here: where the joined rows go (the stage `ingest` of `iotriage`).

mod clock_map;
mod estimate;
mod group;
mod join;
mod line;
mod losses;
mod matching;
mod merged;
mod points;
mod reading;
mod refusal;
mod sketch;
mod tally;
#[cfg(test)]
mod testing;
mod votes;

pub use clock_map::ClockMap;
pub use estimate::{Alignment, MAX_DRIFT_PPM, estimate};
pub use group::{Group, Grouping, Member, group};
pub use join::{JoinSource, Joined, Joiner, LostEnd};
pub use losses::{Watch, uncovered};
pub use merged::merged;
pub use points::{Moments, Point, PointPair, PointTimes};
pub use reading::{JoinedEnd, read_joined};
pub use refusal::Refusal;
pub use sketch::{Sketch, SketchBuilder};
pub use tally::{Agreement, PairTally};
pub use votes::MAX_VOTES_PER_KEY;

//! The made-up windows.

use iotriage_reports::view::*;

use super::{BEHAVIOURS, Behaviour, Random, SECOND, START};

pub(crate) fn device_windows(windows: &mut Vec<Window>, random: &mut Random, device: usize, class: u8) {
    let count = 80 + device * 4;
    let start = START + device as i64 * 5 * SECOND;
    for i in 0..count {
        let ill = match class {
            0 => i % 3 == 0,
            1 => false,
            8 => i % 12 > 7,
            _ => (20..70).contains(&i),
        };
        let span = Span { clock: Clock::Unix, start_ns: start + i as i64 * SECOND, end_ns: start + (i as i64 + 1) * SECOND };
        // A pause without I/O in one device, a stall in another.
        if device == 9 && (40..52).contains(&i) {
            continue;
        }
        if device == 2 && (50..57).contains(&i) {
            windows.push(stalled(device, span));
            continue;
        }
        let behaviour = BEHAVIOURS.iter().find(|b| b.class == if ill && class > 0 { class } else { 1 }).unwrap_or(&BEHAVIOURS[0]);
        let mut window = window(random, device, span, behaviour);
        if class == 0 && ill {
            window.class = None;
            window.class_name = "".into();
            window.root_cause = "".into();
            window.confidence = Some(0.31);
            window.evidence = vec!["latency 3.1 times the device's median at equal depth".into()];
            window.missing = "queue times: the log has issue and completion only".into();
            window.cluster = Some(6);
        }
        if i == 0 || i + 1 == count {
            unjudged(&mut window);
            window.edge = true;
        } else if device == 12 && i % 9 == 4 {
            unjudged(&mut window);
            window.sparse = true;
            window.n = 7;
        }
        if device == 5 {
            window.trust = Trust::C;
        }
        windows.push(window);
    }
}

fn unjudged(window: &mut Window) {
    window.class = None;
    window.cluster = None;
    window.class_name = "".into();
    window.root_cause = "".into();
    window.confidence = None;
    window.evidence.clear();
    window.embedding = None;
}

fn stalled(device: usize, span: Span) -> Window {
    Window {
        device,
        capture: "cap-1".into(),
        span,
        stalled: true,
        trust: Trust::A,
        class: Some(3),
        class_name: "fail-slow device".into(),
        root_cause: "transport errors and requeues".into(),
        confidence: Some(0.97),
        evidence: vec!["no completion in 1 s with 4 I/Os outstanding".into()],
        evidence_values: vec![None, None, None],
        mean_depth: Some(4.0),
        ..Window::default()
    }
}

fn window(random: &mut Random, device: usize, span: Span, b: &Behaviour) -> Window {
    let load = 10_f64.powf(0.07 * random.normal());
    let n = (b.iops * load).max(1.0) as u64;
    let mut counts = [0_u32; LATENCY_BINS];
    let draws = 400;
    let mut latencies: Vec<f64> = (0..draws)
        .map(|i| {
            let hump = if b.class == 5 && i % 3 == 0 { 0.9 } else { 0.0 };
            b.latency_us * 10_f64.powf(b.spread * random.normal() + hump)
        })
        .collect();
    for &latency in &latencies {
        counts[LatencyHistogram::bin_of(latency)] += (n / draws).max(1) as u32;
    }
    latencies.sort_by(f64::total_cmp);
    let (p50, p99) = (latencies[200], latencies[396]);
    let depth = b.depth * 10_f64.powf(0.08 * random.normal());
    let mut features = [0.0; FEATURES];
    for (i, feature) in features.iter_mut().enumerate() {
        *feature = profile(b.class, i) + 0.3 * random.normal();
    }
    let angle = f64::from(b.class) * 0.79;
    Window {
        device,
        capture: "cap-1".into(),
        span,
        n,
        trust: Trust::A,
        cluster: Some(u32::from(b.class) - 1),
        class: Some(b.class),
        class_name: b.name.into(),
        root_cause: if b.class == 1 { "".into() } else { b.cause.into() },
        confidence: Some(0.86 + 0.1 * random.unit()),
        evidence: if b.class == 1 {
            vec![]
        } else {
            vec![format!("median latency {:.1} ms at depth {depth:.1}", p50 / 1e3).into(), "device time is 94 % of latency".into()]
        },
        features,
        evidence_values: vec![Some(p50 * 0.9), Some(p50 * 0.1), if b.class == 6 { None } else { Some(0.4) }],
        iops: n as f64,
        latency_p50_us: Some(p50),
        latency_p99_us: Some(p99),
        mean_depth: Some(depth),
        latency: LatencyHistogram::from_counts(&counts),
        embedding: Some([6.0 * angle.cos() + 0.7 * random.normal(), 5.0 * angle.sin() + 0.6 * random.normal()]),
        ..Window::default()
    }
}

/// A class' mean of a feature, in z units.
pub(crate) fn profile(class: u8, feature: usize) -> f64 {
    let levels: [f64; 12] = match class {
        1 => [-0.9, 0.0, -0.4, 0.4, 0.3, -0.7, -0.4, -0.5, -0.3, 0.0, 0.1, -0.4],
        2 => [1.1, -0.4, -0.5, 1.2, 0.6, 2.1, -0.2, 1.9, -0.4, -0.2, 0.0, -0.5],
        3 => [2.3, 0.6, 0.4, -2.0, -1.1, 0.1, 0.2, -0.6, 0.0, -0.1, -0.2, 0.0],
        4 => [-0.1, 0.9, 0.5, -0.3, 0.0, -0.3, 0.5, -0.2, 0.3, 0.8, -0.4, 3.1],
        5 => [0.9, -1.0, 1.2, -0.9, -0.6, 0.5, 1.4, 0.2, 0.8, 0.3, -0.2, 2.2],
        6 => [-0.7, 0.2, -0.3, 0.9, 0.4, -0.8, -0.5, -0.4, -0.2, 2.8, -0.9, -0.5],
        7 => [1.3, 0.1, 0.9, 0.0, -1.4, 1.2, 2.2, 1.4, 2.5, 0.0, 0.4, -0.3],
        _ => [1.6, -0.8, 1.9, -0.8, -1.9, 0.8, 0.9, 0.0, 1.1, -0.2, 0.2, -0.4],
    };
    levels.get(feature).copied().unwrap_or(0.0)
}

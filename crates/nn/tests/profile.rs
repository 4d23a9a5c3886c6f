//! What a recording tells of the operations. In a process of its own: a recording is of all threads.

use candle_core::{Device, Result, Tensor};
use toller_nn::profile::{Operation, Recording};
use toller_nn::{
    Activation, AttentionOptions, LayerNorm, Linear, Pooling, Sequences, attention, normalize, pool,
};

/// Every operation once: three tokens in two sequences, two heads of four.
fn compute() -> Result<()> {
    let random = |shape: &[usize]| Tensor::randn(0_f32, 1.0, shape, &Device::Cpu);
    let sequences = Sequences::from_lengths([2, 1]);
    let qkv = Linear::new(&random(&[24, 8])?, None)?.forward(&random(&[3, 8])?, Activation::Identity)?;
    let context = attention(&qkv, &sequences, &AttentionOptions { heads: 2, ..AttentionOptions::default() })?;
    let states = LayerNorm::new(&random(&[8])?, &random(&[8])?, 1e-5)?.forward(&context)?;
    normalize(&pool(&states, &sequences, Pooling::Mean)?)?;
    Ok(())
}

#[test]
fn a_recording_counts_what_runs_while_it_lasts() -> Result<()> {
    compute()?;
    let operations =
        |recording: &Recording| Operation::ALL.map(|operation| recording.cost(operation).matrix_operations);
    let recording = Recording::start().expect("nobody records yet");
    assert!(Recording::start().is_none());
    assert_eq!(operations(&recording), [0; 4]);
    std::thread::scope(|scope| scope.spawn(compute).join().expect("no panic"))?;
    // 2 * 3 * 8 * 24, and 4 * (2 * 2 + 1 * 1) * 8.
    assert_eq!(operations(&recording), [1152, 160, 0, 0]);
    for operation in Operation::ALL {
        assert!(recording.cost(operation).seconds > 0.0, "{operation}");
    }
    drop(recording);
    compute()?;
    let recording = Recording::start().expect("the other has ended");
    assert_eq!(operations(&recording), [0; 4]);
    Ok(())
}

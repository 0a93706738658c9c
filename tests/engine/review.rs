use crate::world::{World, correct, invoice, presentation, send, submit, system, tenant};
use std::sync::Arc;
use std::time::Duration;
use verifactu_core::{
    ledger::{Appended, HoldReason, Ledger},
    record::{Correction, PriorRejection, Statement, SystemId},
    types::Text,
};
use verifactu_server::sandbox::{Effect, Fault, FaultSide, Holder, MessageKind};
const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn t1_doubt_loop_starves() {
    let world = World::new().await;
    world.sandbox.arm(Fault::new(Effect::Force { code: 3000, number: Some("F-1".into()) }).until_cleared());
    let one = world.accept(send("F-1")).await.job.id;
    world.run().await;
    let two = world.accept(send("F-2")).await.job.id;
    world.run_for(60 * MINUTE, MINUTE).await;
    let p = world.progress(one).await;
    println!(
        "T1 after 1h F-1 {:?} {:?} attempts {} next {:?}; F-2 {:?}",
        p.state,
        p.standing,
        p.attempts,
        p.next_retry_at,
        world.progress(two).await
    );
}

#[tokio::test]
async fn t1b_html_loop() {
    for effect in [Effect::HtmlPage, Effect::Cut] {
        let world = World::new().await;
        world.sandbox.arm(Fault::new(effect.clone()).until_cleared().on(MessageKind::Submission));
        let one = world.accept(send("F-1")).await.job.id;
        world.run().await;
        let two = world.accept(send("F-2")).await.job.id;
        world.run_for(120 * MINUTE, MINUTE).await;
        let p = world.progress(one).await;
        println!(
            "T1b {effect:?} after 2h F-1 {:?} {:?} attempts {}; F-2 {:?} {}",
            p.state,
            p.standing,
            p.attempts,
            world.progress(two).await.state,
            world.progress(two).await.attempts
        );
    }
}

#[tokio::test]
async fn t2_dead_by_fault_counts_as_held() {
    let world = World::new().await;
    world.sandbox.arm(
        Fault::new(Effect::SoapFault { code: Some(4104), side: FaultSide::Client })
            .until_cleared()
            .on(MessageKind::Submission),
    );
    let one = world.accept(send("F-1")).await.job.id;
    world.run_for(60 * 60 * MINUTE, 15 * MINUTE).await;
    let p = world.progress(one).await;
    println!("T2 F-1 {:?} {:?} {}", p.state, p.standing, p.attempts);
    world.sandbox.clear_faults();
    let c = world.accept(correct("F-1", "c")).await;
    println!(
        "T2 xml {}",
        String::from_utf8_lossy(&c.record.xml)
            .split("<")
            .filter(|t| t.starts_with("Subsan") || t.starts_with("Rechazo"))
            .collect::<Vec<_>>()
            .join(" ")
    );
    world.run_for(2 * MINUTE, MINUTE).await;
    let p = world.progress(c.job.id).await;
    println!("T2 corr {:?} {:?} {:?}", p.state, p.standing, p.failure.map(|f| f.code));
    world.run_for(60 * 60 * MINUTE, 15 * MINUTE).await;
    println!("T2 corr later {:?}", world.state(c.job.id).await);
    let mut inv = invoice("F-1");
    inv.correction = Correction { corrects: Some(true), prior_rejection: Some(PriorRejection::NotHeld) };
    match world.engine.accept(submit(Statement::Invoice(Box::new(inv)), "x")).await.unwrap() {
        Appended::Refused(r) => println!("T2 explicit X refused {r:?}"),
        o => println!("T2 explicit X {:?}", matches!(o, Appended::New { .. })),
    }
    match world.engine.accept(send("F-1")).await.unwrap() {
        Appended::New { .. } => println!("T2 plain new"),
        o => println!("T2 plain {}", matches!(o, Appended::AlreadySubmitted(_) | Appended::Replay { .. })),
    }
}

#[tokio::test]
async fn t3_server_fault_then_correction() {
    let world = World::new().await;
    world.sandbox.arm(
        Fault::new(Effect::SoapFault { code: Some(20009), side: FaultSide::Server })
            .on(MessageKind::Submission),
    );
    let one = world.accept(send("F-1")).await.job.id;
    world.run().await;
    let c = world.accept(correct("F-1", "c")).await;
    world.run_for(5 * MINUTE, MINUTE).await;
    let p = world.progress(one).await;
    println!("T3 F-1 {:?} {:?} {:?}", p.state, p.standing, p.failure.map(|f| f.class));
    let p = world.progress(c.job.id).await;
    println!(
        "T3 corr {:?} {:?} {:?} registered {}",
        p.state,
        p.standing,
        p.failure.map(|f| f.code),
        world.registered("F-1").await
    );
}

#[tokio::test]
async fn t4_early_slot_used_for_retry() {
    let world = World::new().await;
    world.sandbox.arm(Fault::new(Effect::Force { code: 1110, number: Some("BAD".into()) }).until_cleared());
    let bad = world.accept(send("BAD")).await.job.id;
    world.run().await;
    world.clock.advance(Duration::from_secs(40));
    for n in 0..1000 {
        world.accept(send(&format!("F-{n}"))).await;
    }
    let before = world.progress(bad).await.attempts;
    world.engine.dispatch_next().await.unwrap();
    println!(
        "T4 BAD attempts before {before} after one early dispatch at t=40s {}",
        world.progress(bad).await.attempts
    );
    let c = &world.ledger.chains(&tenant()).await.unwrap()[0];
    println!("T4 pending {} last_slot {:?}", c.pending, c.last_slot);
}

#[tokio::test]
async fn t4b_early_slot_short_message() {
    let world = World::new().await;
    world.accept(send("A")).await;
    world.run().await;
    for n in 0..1003 {
        let mut s = send(&format!("F-{n}"));
        if n < 4 && n % 2 == 0 {
            s.issuer_name = Text::parse("Talleres Ebro Sociedad Limitada").unwrap();
        }
        world.accept(s).await;
    }
    let mut messages = 0;
    loop {
        let before = world.ledger.chains(&tenant()).await.unwrap()[0].pending;
        if !world.engine.dispatch_next().await.unwrap() {
            break;
        }
        let after = world.ledger.chains(&tenant()).await.unwrap()[0].pending;
        messages += 1;
        println!("T4b message {messages}: {} records settled, at t=0", before - after);
        if messages > 8 {
            break;
        }
    }
}

#[tokio::test]
async fn t5_cross_chain_positions() {
    let world = World::new().await;
    world.accept(send("F-1")).await;
    world.accept(send("F-2")).await;
    world.run().await;
    let mut s = correct("F-2", "c");
    let mut sys = system();
    sys.id = SystemId::parse("78").unwrap();
    s.system = Some(sys);
    world.sandbox.arm(Fault::new(Effect::Cut).on(MessageKind::Submission));
    let c = world.accept(s).await;
    println!("T5 position {}", c.record.position);
    world.run_for(5 * MINUTE, MINUTE).await;
    let p = world.progress(c.job.id).await;
    println!(
        "T5 correction {:?} {:?} {:?} registered {}",
        p.state,
        p.standing,
        p.failure.map(|f| (f.class, f.superseded_by)),
        world.registered("F-2").await
    );
}

#[tokio::test]
async fn t5b_cross_chain_old_after_new() {
    let world = World::new().await;
    world.accept(send("F-1")).await;
    world.run().await;
    world.clock.advance(MINUTE);
    // a correction in chain A that is refused and will be retried
    world.sandbox.arm(Fault::new(Effect::Force { code: 1110, number: Some("F-1".into()) }));
    let old = world.accept(correct("F-1", "old")).await;
    world.run().await;
    println!("T5b old {:?}", world.state(old.job.id).await);
    let mut s = correct("F-1", "new");
    let mut sys = system();
    sys.id = SystemId::parse("78").unwrap();
    s.system = Some(sys);
    let new = world.accept(s).await;
    world.run().await;
    println!("T5b new {:?}; old {:?}", world.state(new.job.id).await, world.state(old.job.id).await);
    world.run_for(10 * MINUTE, MINUTE).await;
    println!(
        "T5b old after {:?} csv {:?}",
        world.state(old.job.id).await,
        world.progress(old.job.id).await.csv.is_some()
    );
    let regs = world.sandbox.registrations(Some(crate::world::ISSUER)).await.unwrap();
    println!(
        "T5b {} registrations; last huella is old: {}",
        regs.len(),
        format!("{:?}", regs.last().unwrap()).contains(old.record.huella.as_str())
    );
}

#[tokio::test]
async fn t6_hold_after_release() {
    let world = Arc::new(World::new().await);
    let other = presentation(&world.sandbox, &Holder::person("12345678Z", "Otra Persona"));
    let right = world.presenter.0.lock().unwrap().replace(other.into());
    world.sandbox.arm(Fault::new(Effect::Delay).delayed(Duration::from_secs(2)));
    let job = world.accept(send("F-1")).await.job.id;
    let w = world.clone();
    let task = tokio::spawn(async move { w.run().await });
    tokio::time::sleep(Duration::from_millis(700)).await;
    *world.presenter.0.lock().unwrap() = right;
    let released = world.ledger.release(&tenant(), HoldReason::Certificate).await.unwrap();
    world.engine.sweep().await.unwrap();
    task.await.unwrap();
    for _ in 0..60 {
        world.engine.sweep().await.unwrap();
        world.run().await;
        world.clock.advance(MINUTE);
    }
    println!(
        "T6 released {} state {:?} hold {:?}",
        released.len(),
        world.state(job).await,
        world.ledger.chains(&tenant()).await.unwrap()[0].hold
    );
}

#[tokio::test]
async fn t9_correction_while_retry_in_flight() {
    let world = Arc::new(World::new().await);
    world.sandbox.arm(Fault::new(Effect::Force { code: 1110, number: Some("F-1".into()) }));
    let one = world.accept(send("F-1")).await.job.id;
    world.run().await;
    println!("T9 F-1 {:?}", world.state(one).await);
    world.clock.advance(MINUTE);
    world.sandbox.arm(Fault::new(Effect::Delay).delayed(Duration::from_secs(2)));
    let w = world.clone();
    let task = tokio::spawn(async move { w.engine.dispatch_next().await.unwrap() });
    tokio::time::sleep(Duration::from_millis(700)).await;
    println!("T9 F-1 in flight {:?}", world.state(one).await);
    let c = world.accept(correct("F-1", "c")).await;
    task.await.unwrap();
    let behind = world.accept(send("F-9")).await.job.id;
    world.run_for(60 * MINUTE, MINUTE).await;
    let p = world.progress(c.job.id).await;
    println!(
        "T9 F-1 {:?}; corr {:?} {:?} attempts {} code {:?}; behind {:?}",
        world.state(one).await,
        p.state,
        p.standing,
        p.attempts,
        p.failure.map(|f| f.code),
        world.state(behind).await
    );
    let later = world.accept(send("F-10")).await.job.id;
    world.run_for(60 * MINUTE, MINUTE).await;
    println!("T9 later {:?}", world.state(later).await);
}
#[tokio::test]
async fn t7_queries_one_by_one() {
    let world = World::new().await;
    world.sandbox.arm(Fault::new(Effect::Cut).on(MessageKind::Submission));
    world.sandbox.arm(
        Fault::new(Effect::Cut).delayed(Duration::from_millis(500)).until_cleared().on(MessageKind::Query),
    );
    for n in 0..10 {
        world.accept(send(&format!("F-{n}"))).await;
    }
    world.run().await;
    world.clock.advance(MINUTE);
    let t = std::time::Instant::now();
    world.engine.dispatch_next().await.unwrap();
    println!("T7 one dispatch of 10 doubts, query unanswered after 0.5 s each: {:?}", t.elapsed());
}

#[tokio::test]
async fn t10_period() {
    let world = World::new().await;
    world.sandbox.arm(Fault::new(Effect::Force { code: 1110, number: Some("F-1".into()) }));
    let mut inv = invoice("F-1");
    inv.operation_date = Some(verifactu_core::types::Date::parse("20-10-2026").unwrap());
    let one = world.accept(submit(Statement::Invoice(Box::new(inv)), "one")).await;
    world.run().await;
    println!("T10 F-1 {:?}", world.state(one.job.id).await);
    let c = world.accept(correct("F-1", "c")).await;
    world.clock.advance(MINUTE);
    world.sandbox.arm(Fault::new(Effect::Cut).after_storing().on(MessageKind::Submission));
    world.run().await;
    let behind = world.accept(send("F-2")).await.job.id;
    world.run_for(60 * MINUTE, MINUTE).await;
    let p = world.progress(c.job.id).await;
    println!(
        "T10 corr {:?} {:?} attempts {} {:?}; registered {}; behind {:?}",
        p.state,
        p.standing,
        p.attempts,
        p.failure.map(|f| f.code),
        world.registered("F-1").await,
        world.state(behind).await
    );
}

#[tokio::test]
async fn t11_fair() {
    let world = World::new().await;
    world.accept(send("Z")).await;
    world.run().await;
    for n in 0..3500 {
        world.accept(send(&format!("F-{n}"))).await;
    }
    world.engine.dispatch_next().await.unwrap();
    let mut s = send("OTHER");
    let mut sys = system();
    sys.id = SystemId::parse("78").unwrap();
    s.system = Some(sys);
    let other = world.accept(s).await.job.id;
    world.clock.advance(Duration::from_secs(1));
    let mut n = 0;
    while world.state(other).await == verifactu_core::job::JobState::Pending {
        world.engine.dispatch_next().await.unwrap();
        n += 1;
        world.clock.advance(Duration::from_secs(2));
    }
    println!("T11 dispatches before the other chain's: {n}");
}
